//! Derives `State` and `Value` of `fabricsim-state`. That crate's documentation says what they are and which attributes fields may have.

mod attributes;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `State` for a type that a fresh run has already: its state is loaded in place.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::state(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives `State` and `Value` for a type that is made from its bytes alone.
#[proc_macro_derive(Value, attributes(state))]
pub fn derive_value(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::value(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
