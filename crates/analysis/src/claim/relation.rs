//! Relations that claims state between figures: the grammar of `relation`.
//!
//! ```text
//! relation  = [quantity] condition | "increases with" PARAM | "decreases with" PARAM
//! quantity  = "value" | "ratio" | "crosses" [NUMBER] | "slope"
//! condition = ("<" | "<=" | "=" | ">=" | ">") amount
//!           | "between" amount "and" amount
//!           | "within" NUMBER "%" ["of" amount]
//!           | "at" amount
//! amount    = NUMBER [UNIT]
//! ```

use super::location::{FileError, Located, Location};

/// Share of X that `crosses at X` allows.
const AT: f64 = 0.1;

/// A quantity and the region in which it lies, if the claim is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    /// Text of the relation in the file.
    pub text: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The region.
    pub region: Region,
}

/// A quantity that is computed from the figures.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantity {
    /// The figure of side `a`.
    Value,
    /// The figure of `a` divided by that of `b`.
    Ratio,
    /// The value of a parameter from which `a` stays below a multiple of `b`.
    Crossing {
        /// The parameter.
        over: String,
        /// The multiple: 1, unless another one is given.
        ratio: f64,
    },
    /// The exponent of the figure, or of the ratio, as a power of a parameter: 1 if proportional, 0 if independent.
    Slope {
        /// The smallest change of the figure, or of the ratio, from one value of a parameter to the next, as a factor.
        over: String,
    },
    /// The smallest change of the figure, or of the ratio, from one value of a parameter to the next: a factor.
    Steps {
        /// The parameter.
        over: String,
        /// Whether an increase is claimed.
        rising: bool,
    },
}

impl Quantity {
    /// Name of the quantity.
    pub fn word(&self) -> &'static str {
        match self {
            Quantity::Value => "value",
            Quantity::Ratio => "ratio",
            Quantity::Crossing { .. } => "crossing",
            Quantity::Slope { .. } => "slope",
            Quantity::Steps { .. } => "smallest step",
        }
    }

    /// Parameter over which the quantity is computed.
    pub fn over(&self) -> Option<&str> {
        match self {
            Quantity::Value | Quantity::Ratio => None,
            Quantity::Crossing { over, .. }
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
    /// Unit, if one is given.
    pub unit: Option<String>,
    /// Whether the number itself belongs to the region.
    pub included: bool,
}

impl Relation {
    /// Parses a relation of one side, or of two; `over` is the parameter of a crossing or a slope. `place` gives the location of
    /// a byte of the text.
    ///
    /// # Errors
    /// An error if the text does not follow the grammar, or needs a side or a parameter that is not given.
    pub fn parse(
        text: &str,
        has_two_sides: bool,
        over: Option<&Located<String>>,
        place: impl Fn(usize) -> Location,
    ) -> Result<Self, FileError> {
        let (words, end) = (words_of(text), text.len());
        let parser = Parser { words, end, next: 0, has_two_sides, over, place: &place };
        let (quantity, region) = parser.relation()?;
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

/// The words of a relation, each with its offset. A unit may follow its number, and a condition its sign, without a space.
fn words_of(text: &str) -> Vec<(usize, &str)> {
    let is_sign = |c: char| matches!(c, '<' | '>' | '=');
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let length = match rest {
            _ if rest.starts_with(is_sign) => length_while(rest, is_sign),
            _ if is_number(rest) => number_length(rest),
            _ => length_while(rest, |c| !c.is_whitespace() && !is_sign(c)),
        };
        words.push((text.len() - rest.len(), &rest[..length]));
        rest = rest[length..].trim_start();
    }
    words
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))
}

fn length_while(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c: char| !is_part(c)).unwrap_or(text.len())
}

/// Length of the number at the beginning of `text`: a unit may follow without a space.
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
    // Beyond these limits a product of two numbers may not be finite.
    (number == 0.0 || (1e-100..=1e100).contains(&number.abs())).then_some(number)
}

struct Parser<'t> {
    /// Words, each with its offset.
    words: Vec<(usize, &'t str)>,
    end: usize,
    /// Index of the next word.
    next: usize,
    has_two_sides: bool,
    over: Option<&'t Located<String>>,
    place: &'t dyn Fn(usize) -> Location,
}

/// A number with its unit.
type Amount = (f64, Option<String>);

impl<'t> Parser<'t> {
    fn relation(mut self) -> Result<(Quantity, Region), FileError> {
        let found = match self.take(|word| matches!(word, "increases" | "decreases")) {
            Some(word) => {
                self.keyword("with", "a parameter: `increases with workers`")?;
                let over = self.take(|word| !is_number(word)).map(str::to_owned);
                let over =
                    over.map_or_else(|| self.wrong("the name of a parameter is missing"), Ok);
                (Quantity::Steps { over: over?, rising: word == "increases" }, above(1.0))
            }
            None => {
                let quantity = self.quantity()?;
                let region = self.condition(&quantity)?;
                (quantity, region)
            }
        };
        match self.words.get(self.next) {
            Some((_, word)) => self.wrong(format!("nothing may follow here, but {word:?} does")),
            None => Ok(found),
        }
    }

    fn quantity(&mut self) -> Result<Quantity, FileError> {
        let at = self.next;
        let word = self.take(|word| matches!(word, "value" | "ratio" | "crosses" | "slope"));
        let over = || match self.over {
            Some(over) => Ok(over.value.clone()),
            None => self.wrong_at(at, "it needs a parameter: over = \"connections\""),
        };
        match (word, self.has_two_sides) {
            (Some("ratio"), false) => self.wrong_at(at, "a ratio needs a side b"),
            (Some("crosses"), false) => self.wrong_at(at, "a crossing needs a side b"),
            (Some("value"), true) => {
                self.wrong_at(at, "a value is of one side: leave out b, or use `ratio`")
            }
            (Some("crosses"), true) => {
                let over = over()?;
                let at = self.next;
                let ratio = match self.words.get(at).is_some_and(|(_, word)| is_number(word)) {
                    true => self.number("a ratio is missing")?,
                    false => 1.0,
                };
                match ratio > 0.0 {
                    true => Ok(Quantity::Crossing { over, ratio }),
                    false => self.wrong_at(at, "the sides cross at a ratio above 0"),
                }
            }
            (Some("slope"), _) => Ok(Quantity::Slope { over: over()? }),
            (_, true) => Ok(Quantity::Ratio),
            (_, false) => Ok(Quantity::Value),
        }
    }

    fn condition(&mut self, quantity: &Quantity) -> Result<Region, FileError> {
        let at = self.next;
        let word = self.take(|word| !is_number(word)).unwrap_or_default();
        let included = word != "<" && word != ">";
        let limit = |(number, unit): Amount| Some(Limit { number, unit, included });
        match word {
            "<" | "<=" => Ok(Region { low: None, high: limit(self.amount(quantity)?) }),
            ">" | ">=" => Ok(Region { low: limit(self.amount(quantity)?), high: None }),
            "=" | "==" => {
                let exactly = limit(self.amount(quantity)?);
                Ok(Region { low: exactly.clone(), high: exactly })
            }
            "between" => self.between(quantity),
            "within" => self.within(quantity),
            "at" if matches!(quantity, Quantity::Crossing { .. }) => {
                Ok(around(self.positive(quantity)?, AT))
            }
            "at" => {
                self.wrong_at(at, "`at` is for `crosses`; elsewhere use `=` or `within 5 % of`")
            }
            _ => {
                let found = match self.words.get(at) {
                    Some((_, word)) => format!("{word:?} begins no condition"),
                    None => "a condition is missing".to_owned(),
                };
                self.wrong_at(
                    at,
                    format!(
                        "{found}: write one such as \"< 2 us\", \"ratio >= 2\", \"within 5 %\" or \"between 1 us and 2 \
                         us\"; the metric is that of the sides, `time` if they name none"
                    ),
                )
            }
        }
    }

    fn between(&mut self, quantity: &Quantity) -> Result<Region, FileError> {
        let at = self.next;
        let (from, unit) = self.amount(quantity)?;
        self.keyword("and", "the other end: `between 1 us and 2 us`")?;
        let (to, unit_of_both) = self.amount(quantity)?;
        // In `between 1 and 2 us` both amounts have the same unit.
        let unit = unit.or_else(|| unit_of_both.clone());
        if unit == unit_of_both && from > to {
            let problem = format!("the lower end comes first: between {to} and {from}");
            return self.wrong_at(at, problem);
        }
        let limit = |number, unit| Some(Limit { number, unit, included: true });
        Ok(Region { low: limit(from, unit), high: limit(to, unit_of_both) })
    }

    fn within(&mut self, quantity: &Quantity) -> Result<Region, FileError> {
        const MISSING: &str = "a percentage above 0 is missing: `within 5 %`";
        let at = self.next;
        let percent = self.number(MISSING)?;
        if percent <= 0.0 || percent >= 1_000.0 {
            return self.wrong_at(at, MISSING);
        }
        self.keyword("%", "the sign: `within 5 %`")?;
        match (self.take(|word| word == "of"), quantity) {
            (Some(_), _) => Ok(around(self.positive(quantity)?, percent / 100.0)),
            (None, Quantity::Ratio) => Ok(around((1.0, None), percent / 100.0)),
            (None, _) => self.wrong("the center is missing: `within 5 % of 2 us`"),
        }
    }

    fn amount(&mut self, quantity: &Quantity) -> Result<Amount, FileError> {
        let number = self.number("a number is missing")?;
        let at = self.next;
        let unit = self.take(|word| !is_number(word) && !matches!(word, "and" | "of"));
        match (unit, quantity) {
            (Some(unit), Quantity::Ratio | Quantity::Slope { .. }) => {
                let problem = format!("a ratio or a slope has no unit, but {unit:?} is given");
                self.wrong_at(at, problem)
            }
            _ => Ok((number, unit.map(str::to_owned))),
        }
    }

    fn positive(&mut self, quantity: &Quantity) -> Result<Amount, FileError> {
        let at = self.next;
        let amount = self.amount(quantity)?;
        if amount.0 > 0.0 { Ok(amount) } else { self.wrong_at(at, "it must be above 0") }
    }

    fn number(&mut self, missing: &str) -> Result<f64, FileError> {
        let at = self.next;
        let Some(word) = self.take(is_number) else { return self.wrong(missing) };
        let problem = || format!("{word:?} is not a number such as 0.9, 12 or 1e6");
        number(word).map_or_else(|| self.wrong_at(at, problem()), Ok)
    }

    fn keyword(&mut self, keyword: &str, missing: &str) -> Result<(), FileError> {
        match self.take(|word| word == keyword) {
            Some(_) => Ok(()),
            None => self.wrong(format!("{keyword:?} is missing, then {missing}")),
        }
    }

    /// Takes the next word, if it is one of these.
    fn take(&mut self, is_one: impl Fn(&str) -> bool) -> Option<&'t str> {
        let word = self.words.get(self.next).map(|(_, word)| *word).filter(|word| is_one(word));
        self.next += usize::from(word.is_some());
        word
    }

    /// A mistake at the next word.
    fn wrong<T>(&self, problem: impl Into<String>) -> Result<T, FileError> {
        self.wrong_at(self.next, problem)
    }

    fn wrong_at<T>(&self, word: usize, problem: impl Into<String>) -> Result<T, FileError> {
        let offset = self.words.get(word).map_or(self.end, |(at, _)| *at);
        Err(FileError::new((self.place)(offset), problem))
    }
}

fn above(number: f64) -> Region {
    Region { low: Some(Limit { number, unit: None, included: false }), high: None }
}

/// The region within a share of an amount, by factors: `within 5 %` of a ratio of 1 is from 1/1.05 to 1.05, so that exchanging
/// `a` and `b` changes nothing.
fn around((number, unit): Amount, share: f64) -> Region {
    let limit = |number| Some(Limit { number, unit: unit.clone(), included: true });
    Region { low: limit(number / (1.0 + share)), high: limit(number * (1.0 + share)) }
}
