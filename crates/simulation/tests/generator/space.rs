//! Dimensions, choices, and rules on them.

use super::{Build, PARTS};

/// A property of an experiment with its choices; the first is the plain one.
pub struct Dimension {
    pub name: &'static str,
    pub choices: &'static [&'static str],
}

/// A condition on a point.
pub enum When {
    /// The dimension has one of these choices.
    Is(&'static str, &'static [&'static str]),
    /// The dimension has none of these choices.
    IsNot(&'static str, &'static [&'static str]),
}

/// The reason why choices are not combined.
pub enum Then {
    /// The experiment is refused with a message that contains this.
    Refused(&'static str),
    /// One of the choices has no effect beside the others: the plain choice stands for all of them.
    Idle,
}

/// Choices that exclude each other: a point that fulfils all conditions is not run.
pub struct Rule {
    pub when: &'static [When],
    pub then: Then,
}

/// Some dimensions, their rules, and the sections of the file that they write.
pub struct Part {
    pub dimensions: &'static [Dimension],
    pub rules: &'static [Rule],
    pub write: fn(&mut Build),
}

/// A choice for each dimension, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point(pub Vec<usize>);

/// No choice yet.
pub const OPEN: usize = usize::MAX;

/// A condition by numbers: choices of a dimension.
struct Condition {
    dimension: usize,
    choices: Vec<bool>,
}

/// All dimensions and rules.
pub struct Space {
    pub dimensions: Vec<&'static Dimension>,
    pub rules: Vec<&'static Rule>,
    conditions: Vec<Vec<Condition>>,
    /// Rules that a dimension takes part in.
    of_dimension: Vec<Vec<usize>>,
}

impl Space {
    pub fn new() -> Self {
        let dimensions: Vec<&Dimension> = PARTS.iter().flat_map(|part| part.dimensions).collect();
        let rules: Vec<&Rule> = PARTS.iter().flat_map(|part| part.rules).collect();
        let number = |name: &str| find(&dimensions, name);
        let condition = |when: &When| {
            let (name, listed, is) = match when {
                When::Is(name, choices) => (name, choices, true),
                When::IsNot(name, choices) => (name, choices, false),
            };
            let dimension = number(name);
            let known = dimensions[dimension].choices;
            for choice in *listed {
                assert!(known.contains(choice), "the dimension {name} has no choice {choice}");
            }
            let choices = known.iter().map(|choice| listed.contains(choice) == is).collect();
            Condition { dimension, choices }
        };
        let conditions: Vec<Vec<Condition>> =
            rules.iter().map(|rule| rule.when.iter().map(condition).collect()).collect();
        let takes_part = |dimension: usize| {
            let of = |rule: &usize| conditions[*rule].iter().any(|c| c.dimension == dimension);
            (0..rules.len()).filter(of).collect()
        };
        let of_dimension = (0..dimensions.len()).map(takes_part).collect();
        Self { dimensions, rules, conditions, of_dimension }
    }

    pub fn number(&self, dimension: &str) -> usize {
        find(&self.dimensions, dimension)
    }

    pub fn choice(&self, point: &Point, dimension: &str) -> &'static str {
        let number = self.number(dimension);
        self.dimensions[number].choices[point.0[number]]
    }

    pub fn is(&self, point: &Point, dimension: &str, choice: &str) -> bool {
        self.choice(point, dimension) == choice
    }

    /// True if the point has made all choices of the rule's conditions, and fulfils them.
    pub fn fulfils(&self, point: &[usize], rule: usize) -> bool {
        self.conditions[rule].iter().all(|condition| {
            let choice = point[condition.dimension];
            choice != OPEN && condition.choices[choice]
        })
    }

    /// True if no rule is fulfilled that the dimension takes part in, but for `except`.
    pub fn permits(&self, point: &[usize], dimension: usize, except: Option<usize>) -> bool {
        let rules = &self.of_dimension[dimension];
        rules.iter().all(|&rule| Some(rule) == except || !self.fulfils(point, rule))
    }

    /// The point in words: the choices that are not plain.
    pub fn describe(&self, point: &Point) -> String {
        let chosen = self.dimensions.iter().zip(&point.0).filter(|(_, choice)| **choice != 0);
        let words = chosen.map(|(dimension, &choice)| {
            format!("{} = {}", dimension.name, dimension.choices.get(choice).unwrap_or(&"?"))
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

fn find(dimensions: &[&Dimension], name: &str) -> usize {
    let place = dimensions.iter().position(|dimension| dimension.name == name);
    place.unwrap_or_else(|| panic!("no dimension is called {name}"))
}
