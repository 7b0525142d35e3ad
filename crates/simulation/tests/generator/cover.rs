//! Points that cover all pairs of choices, and points at random.

use super::draw::Draw;
use super::space::{OPEN, Point, Space};

/// Points among which the one that covers most is taken.
const CANDIDATES: usize = 12;

/// A choice of a dimension.
pub type Choice = (usize, usize);

/// Pairs of choices of different dimensions.
pub struct Pairs {
    first: Vec<usize>,
    size: usize,
    open: Vec<bool>,
}

impl Pairs {
    /// All pairs of the space.
    pub fn new(space: &Space) -> Self {
        let mut first = vec![0];
        first.extend(space.dimensions.iter().scan(0, |sum, dimension| {
            *sum += dimension.choices.len();
            Some(*sum)
        }));
        let size = first[space.dimensions.len()];
        Self { first, size, open: vec![true; size * size] }
    }

    fn at(&self, a: Choice, b: Choice) -> usize {
        let (a, b) = (self.first[a.0] + a.1, self.first[b.0] + b.1);
        a.min(b) * self.size + a.max(b)
    }

    fn is_open(&self, a: Choice, b: Choice) -> bool {
        a.0 != b.0 && self.open[self.at(a, b)]
    }

    fn close(&mut self, a: Choice, b: Choice) {
        let at = self.at(a, b);
        self.open[at] = false;
    }

    fn close_all(&mut self, point: &Point) {
        for a in 0..point.0.len() {
            for b in 0..a {
                self.close((a, point.0[a]), (b, point.0[b]));
            }
        }
    }

    /// Open pairs that a choice makes with the choices of a point.
    fn gain(&self, point: &[usize], choice: Choice) -> usize {
        let made = point.iter().enumerate().filter(|(_, other)| **other != OPEN);
        made.filter(|&(dimension, &other)| self.is_open(choice, (dimension, other))).count()
    }
}

/// Points that cover every pair of choices that a point can have, and the pairs that none can have.
pub struct Cover {
    pub points: Vec<Point>,
    pub impossible: Vec<(Choice, Choice)>,
}

impl Cover {
    pub fn new(space: &Space, seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let mut pairs = Pairs::new(space);
        let mut cover = Self { points: Vec::new(), impossible: Vec::new() };
        let choices: Vec<Choice> = (0..space.dimensions.len())
            .flat_map(|d| (0..space.dimensions[d].choices.len()).map(move |c| (d, c)))
            .collect();
        for (number, &a) in choices.iter().enumerate() {
            for &b in &choices[..number] {
                if !pairs.is_open(a, b) {
                    continue;
                }
                let fixed = [a, b];
                let candidates =
                    (0..CANDIDATES).map_while(|_| complete(space, &fixed, None, Some(&pairs), &mut draw));
                let gain = |point: &Point| {
                    (0..point.0.len()).map(|d| pairs.gain(&point.0[..d], (d, point.0[d]))).sum::<usize>()
                };
                if let Some(point) = candidates.max_by_key(gain) {
                    pairs.close_all(&point);
                    cover.points.push(point);
                } else {
                    pairs.close(a, b);
                    cover.impossible.push((a, b));
                }
            }
        }
        cover
    }
}

/// A point at random that has the `fixed` choices; `None` if the rules permit none.
pub fn random(space: &Space, fixed: &[Choice], draw: &mut Draw) -> Option<Point> {
    complete(space, fixed, None, None, draw)
}

/// A point at random that fulfils the conditions of one rule, and of no other.
pub fn breaking(space: &Space, rule: usize, fixed: &[Choice], draw: &mut Draw) -> Option<Point> {
    complete(space, fixed, Some(rule), None, draw)
}

/// A point that has the `fixed` choices and fulfils no rule but `except`. With `pairs`, choices with many open pairs are
/// preferred.
fn complete(
    space: &Space,
    fixed: &[Choice],
    except: Option<usize>,
    pairs: Option<&Pairs>,
    draw: &mut Draw,
) -> Option<Point> {
    let mut point = vec![OPEN; space.dimensions.len()];
    for &(dimension, choice) in fixed {
        if point[dimension] != OPEN && point[dimension] != choice {
            return None;
        }
        point[dimension] = choice;
    }
    if fixed.iter().any(|&(dimension, _)| !space.permits(&point, dimension, except)) {
        return None;
    }
    let mut open: Vec<usize> = (0..point.len()).filter(|&dimension| point[dimension] == OPEN).collect();
    draw.shuffle(&mut open);
    let mut search = Search { space, except, pairs, draw, point, open, steps: 0 };
    let found = search.extend();
    let point = search.point;
    (found && except.is_none_or(|rule| space.fulfils(&point, rule))).then_some(Point(point))
}

/// Choices of a search at most. Rules of two conditions never need many.
const MOST_STEPS: usize = 100_000;

struct Search<'a> {
    space: &'a Space,
    except: Option<usize>,
    pairs: Option<&'a Pairs>,
    draw: &'a mut Draw,
    point: Vec<usize>,
    open: Vec<usize>,
    steps: usize,
}

impl Search<'_> {
    /// Chooses for the open dimensions: for those first that have hardly a choice left.
    fn extend(&mut self) -> bool {
        self.steps += 1;
        assert!(self.steps < MOST_STEPS, "the rules make a search too long: use rules of two conditions");
        let mut next: Option<(usize, Vec<usize>)> = None;
        for place in 0..self.open.len() {
            let choices = self.permitted(self.open[place]);
            match choices.len() {
                0 => return false,
                count if next.as_ref().is_none_or(|(_, fewest)| count < fewest.len()) => {
                    next = Some((place, choices));
                }
                _ => {}
            }
        }
        let Some((place, mut choices)) = next else { return true };
        let dimension = self.open.swap_remove(place);
        self.draw.shuffle(&mut choices);
        if let Some(pairs) = self.pairs {
            choices.sort_by_key(|&choice| std::cmp::Reverse(pairs.gain(&self.point, (dimension, choice))));
        }
        for choice in choices {
            self.point[dimension] = choice;
            if self.extend() {
                return true;
            }
        }
        self.point[dimension] = OPEN;
        self.open.push(dimension);
        false
    }

    /// The choices of an open dimension that no rule excludes.
    fn permitted(&mut self, dimension: usize) -> Vec<usize> {
        let mut choices = Vec::new();
        for choice in 0..self.space.dimensions[dimension].choices.len() {
            self.point[dimension] = choice;
            if self.space.permits(&self.point, dimension, self.except) {
                choices.push(choice);
            }
        }
        self.point[dimension] = OPEN;
        choices
    }
}
