//! Files of GUIDs, as OpenSM reads them.

use crate::{FileError, Guid, Problem};

/// Reads a file of GUIDs, one a line, as `root_guid_file` has them; `#` begins a comment.
///
/// # Errors
///
/// A line that is no GUID.
pub fn guids((bytes, file): (&[u8], &str)) -> Result<Vec<Guid>, FileError> {
    let text = std::str::from_utf8(bytes).map_err(|_| FileError::whole(file, Problem::NotUtf8))?;
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("").trim()));
    let guid = |(number, line): (usize, &str)| {
        let digits = line.strip_prefix("0x").or_else(|| line.strip_prefix("0X")).unwrap_or(line);
        u64::from_str_radix(digits, 16).map(Guid).map_err(|_| {
            let found = line.chars().take(40).collect();
            FileError::at(file, number, Problem::Syntax { expected: "a GUID (hexadecimal)", found })
        })
    };
    lines.filter(|(_, line)| !line.is_empty()).map(guid).collect()
}

#[cfg(test)]
mod tests {
    use super::guids;
    use crate::Guid;

    #[test]
    fn guids_are_read_line_by_line() {
        let read = |text: &str| guids((text.as_bytes(), "roots"));
        assert_eq!(read("0x2c\n# none\n\n2D # spine\n"), Ok(vec![Guid(0x2c), Guid(0x2d)]));
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(message("2c\nspine-1\n"), "roots:2: \"spine-1\": expected a GUID (hexadecimal)");
        assert_eq!(guids((&[0xff], "roots")).unwrap_err().to_string(), "roots: not UTF-8 text");
    }
}
