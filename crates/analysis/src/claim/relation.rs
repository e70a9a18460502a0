//! What a claim says of its figures: the grammar of `relation`.
//!
//! ```text
//! relation  = [quantity] condition | "increases with" PARAM | "decreases with" PARAM
//! quantity  = "value" | "ratio" | "crosses" | "slope"
//! condition = ("<" | "<=" | "=" | ">=" | ">") amount
//!           | "between" amount "and" amount
//!           | "within" NUMBER "%" ["of" amount]
//!           | "at" amount
//! amount    = NUMBER [UNIT]
//! ```

use super::location::{FileError, Located, Location};

/// `crosses at X` means within this share of X.
const AT: f64 = 0.1;

/// A quantity and the region that it lies in, if the claim is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    /// As written.
    pub text: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The region.
    pub region: Region,
}

/// A quantity that is computed from the figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quantity {
    /// The figure of side `a`.
    Value,
    /// The figure of `a` divided by that of `b`.
    Ratio,
    /// The value of a parameter from which `a` stays below `b`.
    Crossing {
        /// The parameter.
        over: String,
    },
    /// The exponent of the figure, or of the ratio, as a power of a parameter: 1 if proportional, 0 if independent.
    Slope {
        /// The parameter.
        over: String,
    },
    /// The smallest change of the figure, or of the ratio, from one value of a parameter to the next: a factor.
    Steps {
        /// The parameter.
        over: String,
        /// Whether it is claimed to increase.
        rising: bool,
    },
}

impl Quantity {
    /// What it is, in words.
    pub fn word(&self) -> &'static str {
        match self {
            Quantity::Value => "value",
            Quantity::Ratio => "ratio",
            Quantity::Crossing { .. } => "crossing",
            Quantity::Slope { .. } => "slope",
            Quantity::Steps { .. } => "smallest step",
        }
    }

    /// The parameter over which it is computed.
    pub fn over(&self) -> Option<&str> {
        match self {
            Quantity::Value | Quantity::Ratio => None,
            Quantity::Crossing { over }
            | Quantity::Slope { over }
            | Quantity::Steps { over, .. } => Some(over),
        }
    }
}

/// All numbers between two limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// The lower limit.
    pub low: Option<Limit>,
    /// The upper limit.
    pub high: Option<Limit>,
}

/// An end of a region.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The number, in `unit`.
    pub number: f64,
    /// The unit, if one is given.
    pub unit: Option<String>,
    /// Whether the number itself belongs to the region.
    pub included: bool,
}

impl Relation {
    /// Parses a relation of one side, or of two; `over` is the parameter of a crossing or a slope.
    ///
    /// # Errors
    /// If it does not follow the grammar, or needs what is not given. `place` gives the place of a byte of the text.
    pub fn parse(
        text: &str,
        has_two_sides: bool,
        over: Option<&Located<String>>,
        place: impl Fn(usize) -> Location,
    ) -> Result<Self, FileError> {
        let words = Words::of(text).map_err(|(at, problem)| FileError::new(place(at), problem))?;
        let parser = Parser { words, at: 0, has_two_sides, over: over.map(|it| it.value.as_str()) };
        let (quantity, region) =
            parser.relation().map_err(|(at, problem)| FileError::new(place(at), problem))?;
        match over {
            Some(over)
                if !matches!(quantity, Quantity::Crossing { .. } | Quantity::Slope { .. }) =>
            {
                let problem =
                    "over is for `crosses` and `slope`; a trend is `increases with PARAM`";
                Err(FileError::new(over.at, problem))
            }
            _ => Ok(Self { text: text.to_owned(), quantity, region }),
        }
    }
}

/// A mistake at a byte of the text.
type Mistake = (usize, String);

/// A word of a relation.
#[derive(Debug, Clone, PartialEq)]
enum Word<'t> {
    Number(f64),
    Text(&'t str),
}

struct Words<'t> {
    /// Each with its place and its own text.
    all: Vec<(usize, &'t str, Word<'t>)>,
    end: usize,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Result<Self, Mistake> {
        let mut all = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let at = text.len() - rest.len();
            let is_sign = |c: char| matches!(c, '<' | '>' | '=');
            let is_number = first.is_ascii_digit() || matches!(first, '.' | '-' | '+');
            let length = match first {
                _ if is_sign(first) => length_while(rest, is_sign),
                _ if is_number => number_length(rest),
                _ => length_while(rest, |c| !c.is_whitespace() && !is_sign(c)),
            };
            let own = &rest[..length];
            let word = match is_number {
                true => Word::Number(number(own).ok_or_else(|| {
                    (at, format!("{own:?} is not a number such as 0.9, 12 or 1e6"))
                })?),
                false => Word::Text(own),
            };
            all.push((at, own, word));
            rest = rest[length..].trim_start();
        }
        Ok(Self { all, end: text.len() })
    }
}

fn length_while(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c: char| !is_part(c)).unwrap_or(text.len())
}

/// The length of a number at the beginning of `text`: a unit may follow without a space.
fn number_length(text: &str) -> usize {
    let sign = usize::from(text.starts_with(['-', '+']));
    let plain = |text: &str| length_while(text, |c| c.is_ascii_digit() || matches!(c, '.' | '_'));
    let mantissa = sign + plain(&text[sign..]);
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']) else { return mantissa.max(1) };
    let sign = usize::from(exponent.starts_with(['-', '+']));
    match length_while(&exponent[sign..], |c| c.is_ascii_digit()) {
        0 => mantissa.max(1),
        digits => mantissa + 1 + sign + digits,
    }
}

fn number(text: &str) -> Option<f64> {
    let begins = text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    let number = text.replace('_', "").parse::<f64>().ok().filter(|_| begins)?;
    // Beyond these limits a product of two of them would not be finite.
    (number == 0.0 || (1e-100..=1e100).contains(&number.abs())).then_some(number)
}

struct Parser<'t> {
    words: Words<'t>,
    at: usize,
    has_two_sides: bool,
    over: Option<&'t str>,
}

impl<'t> Parser<'t> {
    fn relation(mut self) -> Result<(Quantity, Region), Mistake> {
        let (quantity, region) = match self.peek_text() {
            Some(word @ ("increases" | "decreases")) => {
                self.at += 1;
                self.keyword("with", "a parameter: `increases with workers`")?;
                let over = self.parameter()?;
                (Quantity::Steps { over, rising: word == "increases" }, above(1.0))
            }
            _ => {
                let quantity = self.quantity()?;
                let region = self.condition(&quantity)?;
                (quantity, region)
            }
        };
        match self.words.all.get(self.at) {
            Some((at, own, _)) => Err((*at, format!("nothing may follow here, but {own:?} does"))),
            None => Ok((quantity, region)),
        }
    }

    fn quantity(&mut self) -> Result<Quantity, Mistake> {
        let at = self.place();
        let word = self
            .peek_text()
            .filter(|word| matches!(*word, "value" | "ratio" | "crosses" | "slope"));
        self.at += usize::from(word.is_some());
        match (word, self.has_two_sides) {
            (Some("ratio"), false) => Err((at, "a ratio needs a side b".to_owned())),
            (Some("crosses"), false) => Err((at, "a crossing needs a side b".to_owned())),
            (Some("value"), true) => {
                Err((at, "a value is of one side: leave out b, or use `ratio`".to_owned()))
            }
            (Some("crosses"), true) => Ok(Quantity::Crossing { over: self.over(at)? }),
            (Some("slope"), _) => Ok(Quantity::Slope { over: self.over(at)? }),
            (_, true) => Ok(Quantity::Ratio),
            (_, false) => Ok(Quantity::Value),
        }
    }

    /// The key `over` of the claim.
    fn over(&self, at: usize) -> Result<String, Mistake> {
        let missing = || (at, "it needs a parameter: over = \"connections\"".to_owned());
        self.over.map(str::to_owned).ok_or_else(missing)
    }

    fn condition(&mut self, quantity: &Quantity) -> Result<Region, Mistake> {
        let at = self.place();
        let limit = |(number, unit): (f64, Option<String>), included| {
            Some(Limit { number, unit, included })
        };
        let word = self.next_text().unwrap_or_default();
        match word {
            "<" | "<=" => {
                let amount = self.amount(quantity)?;
                Ok(Region { low: None, high: limit(amount, word == "<=") })
            }
            ">" | ">=" => {
                let amount = self.amount(quantity)?;
                Ok(Region { low: limit(amount, word == ">="), high: None })
            }
            "=" | "==" => {
                let amount = self.amount(quantity)?;
                Ok(Region { low: limit(amount.clone(), true), high: limit(amount, true) })
            }
            "between" => self.between(quantity),
            "within" => self.within(quantity),
            "at" => match quantity {
                Quantity::Crossing { .. } => {
                    let amount = self.positive(quantity)?;
                    Ok(around(amount, AT))
                }
                _ => Err((at, "`at` is for `crosses`; elsewhere use `=` or `within 5 % of`".to_owned())),
            },
            _ => Err((
                at,
                "a condition is missing: <, <=, =, >=, > or `at` with a number, `between X and Y`, \
                 or `within 5 %`"
                    .to_owned(),
            )),
        }
    }

    fn between(&mut self, quantity: &Quantity) -> Result<Region, Mistake> {
        let at = self.place();
        let (from, unit) = self.amount(quantity)?;
        self.keyword("and", "the other end: `between 1 us and 2 us`")?;
        let (to, unit_of_both) = self.amount(quantity)?;
        // `between 1 and 2 us` has one unit for both.
        let unit = unit.or_else(|| unit_of_both.clone());
        if unit == unit_of_both && from > to {
            return Err((at, format!("the lower end comes first: between {to} and {from}")));
        }
        let limit = |number, unit| Some(Limit { number, unit, included: true });
        Ok(Region { low: limit(from, unit), high: limit(to, unit_of_both) })
    }

    fn within(&mut self, quantity: &Quantity) -> Result<Region, Mistake> {
        let at = self.place();
        let share = match self.next_number() {
            Some(percent) if percent > 0.0 && percent < 1_000.0 => percent / 100.0,
            _ => return Err((at, "a percentage above 0 is missing: `within 5 %`".to_owned())),
        };
        self.keyword("%", "the sign: `within 5 %`")?;
        let has_center = self.peek_text() == Some("of");
        self.at += usize::from(has_center);
        match quantity {
            _ if has_center => {
                let amount = self.positive(quantity)?;
                Ok(around(amount, share))
            }
            Quantity::Ratio => Ok(around((1.0, None), share)),
            _ => Err((self.place(), "the center is missing: `within 5 % of 2 us`".to_owned())),
        }
    }

    /// A number with its unit.
    fn amount(&mut self, quantity: &Quantity) -> Result<(f64, Option<String>), Mistake> {
        let at = self.place();
        let number = self.next_number();
        let number = number.ok_or_else(|| (at, "a number is missing".to_owned()))?;
        let at = self.place();
        let unit =
            self.peek_text().filter(|word| !matches!(*word, "and" | "of")).map(str::to_owned);
        self.at += usize::from(unit.is_some());
        match (&unit, quantity) {
            (Some(unit), Quantity::Ratio | Quantity::Slope { .. }) => {
                Err((at, format!("a ratio or a slope has no unit, but {unit:?} is given")))
            }
            _ => Ok((number, unit)),
        }
    }

    fn positive(&mut self, quantity: &Quantity) -> Result<(f64, Option<String>), Mistake> {
        let at = self.place();
        let amount = self.amount(quantity)?;
        match amount.0 > 0.0 {
            true => Ok(amount),
            false => Err((at, "it must be above 0".to_owned())),
        }
    }

    fn parameter(&mut self) -> Result<String, Mistake> {
        let at = self.place();
        let name = self.next_text().map(str::to_owned);
        name.ok_or_else(|| (at, "the name of a parameter is missing".to_owned()))
    }

    fn keyword(&mut self, keyword: &str, missing: &str) -> Result<(), Mistake> {
        let at = self.place();
        match self.next_text() == Some(keyword) {
            true => Ok(()),
            false => Err((at, format!("{keyword:?} is missing, then {missing}"))),
        }
    }

    /// The place of the next word.
    fn place(&self) -> usize {
        self.words.all.get(self.at).map_or(self.words.end, |(at, ..)| *at)
    }

    fn peek_text(&self) -> Option<&'t str> {
        match self.words.all.get(self.at) {
            Some((_, _, Word::Text(word))) => Some(word),
            _ => None,
        }
    }

    fn next_text(&mut self) -> Option<&'t str> {
        let word = self.peek_text();
        self.at += usize::from(word.is_some());
        word
    }

    fn next_number(&mut self) -> Option<f64> {
        match self.words.all.get(self.at) {
            Some((_, _, Word::Number(number))) => {
                self.at += 1;
                Some(*number)
            }
            _ => None,
        }
    }
}

fn above(number: f64) -> Region {
    Region { low: Some(Limit { number, unit: None, included: false }), high: None }
}

/// Within a share of an amount, as factors: `within 5 %` of a ratio of 1 is from 1/1.05 to 1.05, so that it does not
/// matter which side is `a`.
fn around((number, unit): (f64, Option<String>), share: f64) -> Region {
    let limit = |number| Some(Limit { number, unit: unit.clone(), included: true });
    Region { low: limit(number / (1.0 + share)), high: limit(number * (1.0 + share)) }
}
