//! The file that describes a torus: `torus-2QoS.conf`.

use crate::read::line::{Line, text};
use crate::{FileError, Guid, Problem};

/// Largest number of switches along a dimension.
const MOST: u64 = 255;

/// Default of `portgroup_max_ports`.
const GROUP: u64 = 16;

/// A seed: an origin with one link or two in each dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seed {
    /// Links by direction: x, y, z, each down, then up. Switches: origin, neighbour.
    pub links: [Option<(Guid, Guid)>; 6],
    /// Place of the origin relative to the dateline, by dimension.
    pub datelines: [i64; 3],
}

/// Description of a torus or mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorusConfig {
    /// Number of switches along each dimension.
    pub sizes: [usize; 3],
    /// True for dimensions without wrap-around.
    pub mesh: [bool; 3],
    /// Seeds, in the order of preference.
    pub seeds: Vec<Seed>,
    /// Ports in the order in which destinations are distributed; the others follow.
    pub port_order: Vec<u8>,
    /// Largest number of parallel links, and of end ports of a switch.
    pub group: usize,
}

impl TorusConfig {
    /// Reads a description.
    ///
    /// # Errors
    ///
    /// An unknown key, a number out of range, no `torus` or `mesh`, no seed.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, FileError> {
        let text = text(bytes, file)?;
        let mut config = Self {
            sizes: [0; 3],
            mesh: [false; 3],
            seeds: Vec::new(),
            port_order: Vec::new(),
            group: GROUP as usize,
        };
        for mut line in Line::all(file, text) {
            if line.blanks().rest.is_empty() || line.rest.starts_with('#') {
                continue;
            }
            config.line(&mut line)?;
        }
        if config.sizes[0] == 0 {
            return Err(FileError::whole(file, Problem::Empty("line \"torus\" or \"mesh\"")));
        }
        if config.seeds.is_empty() {
            return Err(FileError::whole(file, Problem::Empty("seed (xp_link, yp_link, ...)")));
        }
        Ok(config)
    }

    fn line(&mut self, line: &mut Line<'_>) -> Result<(), FileError> {
        let start = *line;
        match line.word() {
            "torus" => self.size(line, false),
            "mesh" => self.size(line, true),
            "next_seed" => {
                self.seeds.push(Seed::default());
                Ok(())
            }
            "portgroup_max_ports" => {
                self.group = line.blanks().number("a number of ports")? as usize;
                Ok(())
            }
            "max_changes" => line.blanks().number("a number").map(|_| ()),
            "port_order" => {
                while !line.blanks().rest.is_empty() {
                    let value = line.number("a port number")?;
                    let port = u8::try_from(value).map_err(|_| {
                        line.error(Problem::Range { what: "port", value, allowed: "0 to 254" })
                    })?;
                    if !self.port_order.contains(&port) {
                        self.port_order.push(port);
                    }
                }
                Ok(())
            }
            word => self.seed(word, line, start),
        }
    }

    fn size(&mut self, line: &mut Line<'_>, mesh: bool) -> Result<(), FileError> {
        if self.sizes[0] != 0 {
            return Err(line.error(Problem::Contradiction("a second line \"torus\" or \"mesh\"".to_owned())));
        }
        for dimension in 0..3 {
            let value = line.blanks().number("a number of switches for each of three dimensions")?;
            if !(1..=MOST).contains(&value) {
                return Err(line.error(Problem::Range { what: "size", value, allowed: "1 to 255" }));
            }
            let is_torus = line.skip("t") || line.skip("T");
            let is_mesh = line.skip("m") || line.skip("M");
            self.sizes[dimension] = value as usize;
            self.mesh[dimension] = (mesh && !is_torus) || is_mesh || value == 2;
        }
        Ok(())
    }

    fn seed(&mut self, word: &str, line: &mut Line<'_>, start: Line<'_>) -> Result<(), FileError> {
        let unknown =
            "torus, mesh, next_seed, portgroup_max_ports, max_changes, port_order, xp_link ... or x_dateline";
        let dimension = ["x", "y", "z"].iter().position(|name| word.starts_with(name));
        let Some(dimension) = dimension else { return Err(start.expected(unknown)) };
        if self.seeds.is_empty() {
            self.seeds.push(Seed::default());
        }
        let seed = self.seeds.len() - 1;
        let seed = &mut self.seeds[seed];
        match &word[1..] {
            "p_link" | "m_link" => {
                let up = usize::from(word[1..].starts_with('p'));
                let origin = Guid(line.blanks().number("two GUIDs of switches")?);
                let neighbour = Guid(line.blanks().number("two GUIDs of switches")?);
                seed.links[2 * dimension + up] = Some((origin, neighbour));
            }
            "_dateline" => {
                let sign = if line.blanks().skip("-") { -1 } else { 1 };
                let value = line.number("a number")?;
                let size = self.sizes[dimension] as u64;
                if value >= size.max(1) {
                    let allowed = "less than the size of its dimension";
                    return Err(line.error(Problem::Range { what: "dateline", value, allowed }));
                }
                seed.datelines[dimension] = sign * value as i64;
            }
            _ => return Err(start.expected(unknown)),
        }
        Ok(())
    }
}
