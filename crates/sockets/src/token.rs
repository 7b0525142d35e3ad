//! The secret that the three processes of a session share.

use std::fmt;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::SocketError;

/// Session token: 128 random bits from the operating system. Every datagram begins with it after its first byte, and
/// one without it is ignored. It reaches the endpoints by a pipe, which other users' processes cannot read.
#[derive(Clone, Copy)]
pub struct Token([u8; Token::BYTES]);

impl Token {
    /// Length in a datagram.
    pub(crate) const BYTES: usize = 16;

    /// A new token.
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub fn random() -> Result<Self, SocketError> {
        let mut bytes = [0; Self::BYTES];
        match getrandom(&mut bytes[..], GetRandomFlags::empty()) {
            Ok(Self::BYTES) => Ok(Self(bytes)),
            Ok(length) => {
                let problem = format!("{length} random bytes instead of {}", Self::BYTES);
                Err(std::io::Error::other(problem).into())
            }
            Err(error) => Err(SocketError::Io(error.into())),
        }
    }

    /// Reads the output of [`Token::to_hex`].
    ///
    /// # Errors
    /// Anything but 32 hexadecimal digits. The message does not repeat the text.
    pub fn from_hex(text: &str) -> Result<Self, SocketError> {
        let wrong = || {
            let digits = 2 * Self::BYTES;
            SocketError::Setting(format!("the session token must be {digits} hexadecimal digits"))
        };
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
        let digits = digits.filter(|digits| digits.len() == 2 * Self::BYTES).ok_or_else(wrong)?;
        let mut bytes = [0; Self::BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(bytes))
    }

    /// 32 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    pub(crate) const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// True if `bytes` are this token. Takes the same time for all bytes of that length.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() == Self::BYTES && self.0.iter().zip(bytes).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_its_text_and_is_not_printed() {
        let token = Token::random().expect("the system has random bytes");
        let text = token.to_hex();
        assert_eq!(text.len(), 32);
        assert!(Token::from_hex(&text).expect("it was written").is(token.bytes()));
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn tokens_differ_and_every_bit_counts() {
        let token = Token::random().expect("the system has random bytes");
        assert!(!token.is(Token::random().expect("the system has random bytes").bytes()));
        for bit in 0..8 * Token::BYTES {
            let mut other = *token.bytes();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!token.is(&other), "bit {bit}");
        }
        assert!(!token.is(&token.bytes()[1..]) && !token.is(&[]));
    }

    #[test]
    fn a_wrong_text_is_refused_without_being_repeated() {
        for text in ["", "secret", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdeg"] {
            let error = Token::from_hex(text).expect_err("it is wrong").to_string();
            assert_eq!(error, "the session token must be 32 hexadecimal digits");
        }
    }
}
