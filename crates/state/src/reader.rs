/// The bytes are not those of the state that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged at byte {at} of the state")]
pub struct Damaged {
    /// Bytes before the defect.
    pub at: usize,
}

/// Reads the bytes of a state.
#[derive(Debug)]
pub struct Reader<'a> {
    left: &'a [u8],
    all: usize,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes, all: bytes.len() }
    }

    /// The error for what was just read.
    pub fn damaged(&self) -> Damaged {
        Damaged { at: self.all - self.left.len() }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    ///
    /// Fewer are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let (taken, left) = self.left.split_at_checked(count).ok_or_else(|| self.damaged())?;
        self.left = left;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    ///
    /// Fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    /// The next byte.
    ///
    /// # Errors
    ///
    /// None is left.
    pub fn byte(&mut self) -> Result<u8, Damaged> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a byte, the number of the variant that is expected.
    ///
    /// # Errors
    ///
    /// It is another one.
    pub fn expect(&mut self, variant: u8) -> Result<(), Damaged> {
        if self.byte()? == variant { Ok(()) } else { Err(self.damaged()) }
    }

    /// The length of a list of which each element has a byte or more.
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    pub fn length(&mut self) -> Result<usize, Damaged> {
        let length = usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| self.damaged())?;
        if length > self.left.len() { Err(self.damaged()) } else { Ok(length) }
    }

    /// Reads a length that follows from the experiment.
    ///
    /// # Errors
    ///
    /// It is another one.
    pub fn expect_length(&mut self, length: usize) -> Result<(), Damaged> {
        if u64::from_le_bytes(self.array()?) == length as u64 { Ok(()) } else { Err(self.damaged()) }
    }

    /// Reads `length` elements. Memory is reserved for as many as the bytes left could fill.
    ///
    /// # Errors
    ///
    /// An element is damaged.
    pub(crate) fn list<T: crate::Value>(&mut self, length: usize) -> Result<Vec<T>, Damaged> {
        let most = self.left.len() / size_of::<T>().max(1);
        let mut list = Vec::with_capacity(length.min(most));
        for _ in 0..length {
            list.push(T::read(self)?);
        }
        Ok(list)
    }

    /// Ends reading.
    ///
    /// # Errors
    ///
    /// Bytes are left.
    pub fn end(self) -> Result<(), Damaged> {
        if self.left.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }
}
