//! Parameters of stages as plain data: one table per stage serves the C setters, the command line,
//! the listings and the tests.

use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::nearest::unknown;

/// A value that a user gives to a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A real number.
    Real(f64),
    /// A whole number.
    Int(i64),
    /// yes or no.
    Flag(bool),
    /// One word of a list.
    Choice(&'static str),
    /// Names, each behind a `+` but the first; as a default.
    Names(&'static str),
    /// The same, as they were given.
    Given(String),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Real(v) => write!(f, "{v:?}"),
            Setting::Int(v) => write!(f, "{v}"),
            Setting::Flag(v) => write!(f, "{v}"),
            Setting::Choice(v) | Setting::Names(v) => f.write_str(v),
            Setting::Given(v) => f.write_str(v),
        }
    }
}

/// The values that a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `low < v <= high` where `open`, `low <= v <= high` otherwise; never NaN.
    Real {
        /// Lower end.
        low: f64,
        /// True if the lower end itself is excluded.
        open: bool,
        /// Upper end, included.
        high: f64,
    },
    /// Both ends included.
    Int {
        /// Lower end.
        low: i64,
        /// Upper end.
        high: i64,
    },
    /// One of these whole numbers.
    IntOf(&'static [i64]),
    /// true or false.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Names of letters, digits, `_`, `-` and `.`, separated by `+`.
    Names {
        /// The largest number of entries.
        most: usize,
    },
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Real { low, open, high } => {
                let open = if *open { '(' } else { '[' };
                match *high {
                    f64::INFINITY => write!(f, "a number in {open}{low:?}, infinity]"),
                    f64::MAX => write!(f, "a finite number in {open}{low:?}, infinity)"),
                    high => write!(f, "a number in {open}{low:?}, {high:?}]"),
                }
            }
            Kind::Int { low, high } => write!(f, "a whole number in [{low}, {high}]"),
            Kind::IntOf(numbers) => {
                write!(f, "one of {}", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
            }
            Kind::Flag => f.write_str("true or false"),
            Kind::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Names { most } => {
                write!(f, "1 to {most} names of letters, digits, _, - and ., separated by +")
            }
        }
    }
}

/// One parameter of a stage.
#[derive(Debug)]
pub struct Param {
    /// Name in C and on the command line.
    pub name: &'static str,
    /// The accepted values.
    pub kind: Kind,
    /// The value if none is set.
    pub default: Setting,
    /// Unit, or "" for a bare number.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// Parameters that have one name and meaning in every stage that has them.
pub(crate) const ERROR_BOUND: &str = "error_bound";
pub(crate) const OUTLIER_THRESHOLD: &str = "outlier_threshold";
/// Room of the outlier lists as a fraction of the elements; calls may raise it up to 1.
pub(crate) const OUTLIER_CAPACITY: &str = "outlier_capacity";
/// Lengths of the array, x first; 0: that of the array.
pub(crate) const DIMS: [&str; 3] = ["dim_x", "dim_y", "dim_z"];
pub(crate) const MODE: &str = "mode";
/// The mode, see `Stage::mode`, that bounds each value by itself.
pub(crate) const POINTWISE: &str = "rel";
/// The guarantee of a stage without a bound.
pub(crate) const UNBOUNDED: &str = "unbounded";

/// The parameters of one stage of one pipeline.
#[derive(Clone, Debug)]
pub struct Args {
    stage: &'static str,
    params: &'static [Param],
    values: Vec<Setting>,
}

impl PartialEq for Args {
    fn eq(&self, other: &Self) -> bool {
        // Not by the address of the table: a constant may have several.
        self.stage == other.stage && self.values == other.values
    }
}

impl Args {
    /// All defaults.
    pub fn new(stage: &'static str, params: &'static [Param]) -> Self {
        Args { stage, params, values: params.iter().map(|p| p.default.clone()).collect() }
    }

    /// The parameters and their present values, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Param, &Setting)> {
        self.params.iter().zip(&self.values)
    }

    /// True when the stage has this parameter.
    pub fn has(&self, name: &str) -> bool {
        self.params.iter().any(|p| p.name == name)
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.params.iter().position(|p| p.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.params.iter().map(|p| p.name).collect();
            unknown("parameter", name, &format!(" of {}", self.stage), &known)
        })
    }

    /// True if mode [`POINTWISE`] is possible.
    pub(crate) fn bounds_each(&self) -> bool {
        let lists = |p: &Param| matches!(p.kind, Kind::Choice(words) if words.contains(&POINTWISE));
        self.params.iter().any(|p| p.name == MODE && lists(p))
    }

    fn refuse(&self, param: &Param, got: impl ToString) -> Error {
        Error::argument(format!("{}.{}", self.stage, param.name), got, param.kind.to_string())
    }

    /// Sets a parameter from a number.
    ///
    /// # Errors
    /// [`Error::UnknownName`], [`Error::InvalidArgument`].
    pub fn set_real(&mut self, name: &str, value: f64) -> Result<()> {
        in_default_environment(|| {
            let i = self.index(name)?;
            let p = &self.params[i];
            let Kind::Real { low, open, high } = p.kind else {
                let call = match p.kind {
                    Kind::Choice(_) | Kind::Names { .. } => "as text, in C fz_pipeline_set_string()",
                    _ => "as a whole number, in C fz_pipeline_set_int()",
                };
                let expected = format!("{}; set it {call}", p.kind);
                return Err(Error::argument(
                    format!("{}.{}", self.stage, p.name),
                    format!("{value:?}"),
                    expected,
                ));
            };
            if !(value >= low && value <= high) || (open && value == low) {
                return Err(self.refuse(p, format!("{value:?}")));
            }
            self.values[i] = Setting::Real(value);
            Ok(())
        })
    }

    /// Sets a parameter from a whole number; flags accept 0 and 1, and real parameters accept every whole
    /// number.
    ///
    /// # Errors
    /// [`Error::UnknownName`], [`Error::InvalidArgument`].
    pub fn set_int(&mut self, name: &str, value: i64) -> Result<()> {
        in_default_environment(|| {
            let i = self.index(name)?;
            let p = &self.params[i];
            self.values[i] = match p.kind {
                Kind::Int { low, high } if (low..=high).contains(&value) => Setting::Int(value),
                Kind::IntOf(numbers) if numbers.contains(&value) => Setting::Int(value),
                Kind::Flag if value == 0 || value == 1 => Setting::Flag(value == 1),
                Kind::Real { .. } => return self.set_real(name, value as f64),
                _ => return Err(self.refuse(p, value)),
            };
            Ok(())
        })
    }

    /// Sets a parameter from text: a word of its list, `true`/`false`, or a number.
    ///
    /// # Errors
    /// [`Error::UnknownName`], [`Error::InvalidArgument`].
    pub fn set_text(&mut self, name: &str, value: &str) -> Result<()> {
        in_default_environment(|| {
            let i = self.index(name)?;
            let p = &self.params[i];
            let bad = || self.refuse(p, format!("`{value}`"));
            match p.kind {
                Kind::Choice(words) => {
                    // A stage without mode POINTWISE rejects this mode with a reason when it is bound.
                    let reserved: &[&str] = if p.name == MODE { &[POINTWISE] } else { &[] };
                    let mut all = words.iter().chain(reserved);
                    let word = all.find(|w| w.eq_ignore_ascii_case(value)).ok_or_else(bad)?;
                    self.values[i] = Setting::Choice(word);
                    Ok(())
                }
                Kind::Names { most } => {
                    let letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
                    let name = |name: &str| !name.is_empty() && name.chars().all(letter);
                    if value.split('+').count() > most || !value.split('+').all(name) {
                        return Err(bad());
                    }
                    let default = matches!(p.default, Setting::Names(names) if names == value);
                    self.values[i] = if default { p.default.clone() } else { Setting::Given(value.into()) };
                    Ok(())
                }
                Kind::Flag => {
                    let flag = value.parse::<bool>().map_err(|_| bad())?;
                    self.values[i] = Setting::Flag(flag);
                    Ok(())
                }
                Kind::Int { .. } | Kind::IntOf(_) => self.set_int(name, value.parse().map_err(|_| bad())?),
                Kind::Real { .. } => self.set_real(name, value.parse().map_err(|_| bad())?),
            }
        })
    }

    fn lookup(&self, name: &str) -> Result<&Setting> {
        Ok(&self.values[self.index(name)?])
    }

    /// Gives a parameter its default back.
    pub(crate) fn reset(&mut self, name: &str) -> Result<()> {
        let i = self.index(name)?;
        self.values[i] = self.params[i].default.clone();
        Ok(())
    }

    pub(crate) fn real(&self, name: &str) -> Result<f64> {
        match self.lookup(name)? {
            Setting::Real(v) => Ok(*v),
            _ => Err(Error::Internal("parameter is not a number")),
        }
    }

    pub(crate) fn int(&self, name: &str) -> Result<i64> {
        match self.lookup(name)? {
            Setting::Int(v) => Ok(*v),
            _ => Err(Error::Internal("parameter is not a whole number")),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        match self.lookup(name)? {
            Setting::Flag(v) => Ok(*v),
            _ => Err(Error::Internal("parameter is not a flag")),
        }
    }

    pub(crate) fn names(&self, name: &str) -> Result<&str> {
        match self.lookup(name)? {
            Setting::Names(v) => Ok(v),
            Setting::Given(v) => Ok(v),
            _ => Err(Error::Internal("parameter is no list of names")),
        }
    }

    pub(crate) fn choice(&self, name: &str) -> Result<&'static str> {
        match self.lookup(name)? {
            Setting::Choice(v) => Ok(v),
            _ => Err(Error::Internal("parameter is not a choice")),
        }
    }
}
