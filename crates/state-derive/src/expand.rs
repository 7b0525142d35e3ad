//! The derived code.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::attributes::{Treatment, treatment};

/// Code for the fields of a struct or variant.
struct Code {
    /// Pattern that binds every field.
    pattern: TokenStream,
    save: TokenStream,
    load: TokenStream,
    /// Expression that makes the value from bytes.
    read: TokenStream,
    /// The types of the fields that are written.
    types: Vec<Written>,
}

/// The type of a field that is written.
struct Written {
    kind: TokenStream,
    /// True if its elements are loaded in place.
    each: bool,
}

pub(crate) fn state(input: &DeriveInput) -> Result<TokenStream> {
    let (save, load, types) = match &input.data {
        Data::Struct(data) => {
            let Code { pattern, save, load, types, .. } = code(&data.fields, false)?;
            (quote!(let Self #pattern = self; #save), quote!(let Self #pattern = self; #load Ok(())), types)
        }
        Data::Enum(data) => {
            let (mut saves, mut loads, mut all) = (TokenStream::new(), TokenStream::new(), Vec::new());
            for (number, variant) in data.variants.iter().enumerate() {
                let (name, number) = (&variant.ident, number as u8);
                match treatment(&variant.attrs)? {
                    Treatment::Refuse(feature) => {
                        saves.extend(quote!(Self::#name { .. } => to.refuse(#feature),));
                        loads.extend(quote!(Self::#name { .. } => Err(from.damaged()),));
                    }
                    Treatment::Own => {
                        let Code { pattern, save, load, types, .. } = code(&variant.fields, false)?;
                        saves.extend(quote!(Self::#name #pattern => { to.put(&[#number]); #save }));
                        loads.extend(quote!(Self::#name #pattern => { from.expect(#number)?; #load Ok(()) }));
                        all.extend(types);
                    }
                    _ => return Err(Error::new_spanned(variant, "a variant may have `refuse` only")),
                }
            }
            (quote!(match self { #saves }), quote!(match self { #loads }), all)
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union has no state")),
    };
    Ok(implementation(input, "State", &types, &save, &load))
}

pub(crate) fn value(input: &DeriveInput) -> Result<TokenStream> {
    let (save, read, types) = match &input.data {
        Data::Struct(data) if data.fields.is_empty() => {
            return Err(Error::new_spanned(input, "a type without fields has no bytes: use `State`"));
        }
        Data::Struct(data) => {
            let Code { pattern, save, read, types, .. } = code(&data.fields, true)?;
            (quote!(let Self #pattern = self; #save), quote!(Ok(Self #read)), types)
        }
        Data::Enum(data) => {
            let (mut saves, mut reads, mut all) = (TokenStream::new(), TokenStream::new(), Vec::new());
            for (number, variant) in data.variants.iter().enumerate() {
                let (name, number) = (&variant.ident, number as u8);
                let Treatment::Own = treatment(&variant.attrs)? else {
                    return Err(Error::new_spanned(variant, "a value is written whole: use `State`"));
                };
                let Code { pattern, save, read, types, .. } = code(&variant.fields, true)?;
                saves.extend(quote!(Self::#name #pattern => { to.put(&[#number]); #save }));
                reads.extend(quote!(#number => Ok(Self::#name #read),));
                all.extend(types);
            }
            let reads = quote!(match from.byte()? { #reads _ => Err(from.damaged()) });
            (quote!(match self { #saves }), reads, all)
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union has no state")),
    };
    let load = quote!(*self = ::fabricsim_state::Value::read(from)?; Ok(()));
    let mut tokens = implementation(input, "Value", &types, &save, &load);
    let (name, (generics, arguments, bounds)) = (&input.ident, bounded(input, "Value", &types));
    tokens.extend(quote! {
        #[automatically_derived]
        impl #generics ::fabricsim_state::Value for #name #arguments #bounds {
            fn read(from: &mut ::fabricsim_state::Reader<'_>) -> ::std::result::Result<Self, ::fabricsim_state::Damaged> {
                #read
            }
        }
    });
    Ok(tokens)
}

/// The implementation of `State`, with `bound` on each type parameter of which a field is written.
fn implementation(
    input: &DeriveInput,
    bound: &str,
    types: &[Written],
    save: &TokenStream,
    load: &TokenStream,
) -> TokenStream {
    let (name, (generics, arguments, bounds)) = (&input.ident, bounded(input, bound, types));
    quote! {
        #[automatically_derived]
        #[allow(unused_variables, reason = "fields that follow from the experiment are bound, too")]
        impl #generics ::fabricsim_state::State for #name #arguments #bounds {
            fn save(&self, to: &mut ::fabricsim_state::Writer) {
                #save
            }
            fn load(
                &mut self,
                from: &mut ::fabricsim_state::Reader<'_>,
            ) -> ::std::result::Result<(), ::fabricsim_state::Damaged> {
                #load
            }
        }
    }
}

/// Generics of the implementation, arguments of the type, and bounds on what depends on its parameters: a value consists of values; other
/// types need what the types of their fields need.
fn bounded(input: &DeriveInput, bound: &str, types: &[Written]) -> (TokenStream, TokenStream, TokenStream) {
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    let whole = bound == "Value";
    let bound = format_ident!("{bound}");
    let mut bounds = conditions.map_or_else(|| quote!(where), |conditions| quote!(#conditions,));
    for parameter in input.generics.type_params().map(|parameter| &parameter.ident) {
        let fields: Vec<&Written> = types.iter().filter(|field| mentions(&field.kind, parameter)).collect();
        if fields.iter().any(|field| whole || field.each) {
            bounds.extend(quote!(#parameter: ::fabricsim_state::#bound,));
        }
        for kind in fields.iter().filter(|field| !whole && !field.each).map(|field| &field.kind) {
            bounds.extend(quote!(#kind: ::fabricsim_state::State,));
        }
    }
    (generics.to_token_stream(), arguments.to_token_stream(), bounds)
}

fn mentions(tokens: &TokenStream, name: &Ident) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(&group.stream(), name),
        _ => false,
    })
}

fn code(fields: &Fields, whole: bool) -> Result<Code> {
    let (mut names, mut members) = (Vec::new(), Vec::new());
    let (mut save, mut load) = (TokenStream::new(), TokenStream::new());
    let (mut reads, mut types) = (Vec::new(), Vec::new());
    for (number, field) in fields.iter().enumerate() {
        let name = format_ident!("field_{number}");
        let kind = &field.ty;
        match treatment(&field.attrs)? {
            Treatment::Own => {
                save.extend(quote!(::fabricsim_state::State::save(#name, to);));
                load.extend(quote!(::fabricsim_state::State::load(#name, from)?;));
                types.push(Written { kind: kind.to_token_stream(), each: false });
            }
            _ if whole => return Err(Error::new_spanned(field, "a value is written whole: use `State`")),
            Treatment::Fixed => {}
            Treatment::Each => {
                save.extend(quote!(to.length(#name.iter().count());));
                save.extend(quote!(for each in #name.iter() { ::fabricsim_state::State::save(each, to); }));
                load.extend(quote!(from.expect_length(#name.iter().count())?;));
                load.extend(
                    quote!(for each in #name.iter_mut() { ::fabricsim_state::State::load(each, from)?; }),
                );
                types.push(Written { kind: kind.to_token_stream(), each: true });
            }
            Treatment::Refuse(feature) => {
                save.extend(quote!(if ::fabricsim_state::Feature::is_used(#name) { to.refuse(#feature); }));
            }
        }
        reads.push(quote!(::fabricsim_state::Value::read(from)?));
        members.push(field.ident.clone());
        names.push(name);
    }
    let (pattern, read) = match fields {
        Fields::Named(_) => (quote!({ #(#members: #names),* }), quote!({ #(#members: #reads),* })),
        Fields::Unnamed(_) => (quote!((#(#names),*)), quote!((#(#reads),*))),
        Fields::Unit => (TokenStream::new(), TokenStream::new()),
    };
    Ok(Code { pattern, save, load, read, types })
}
