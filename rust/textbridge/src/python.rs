//! Methods of Python's str, list and dict that templates call and the contrib crate lacks.

use minijinja::value::{from_args, Tuple, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;

pub fn method(
    state: &mut State,
    value: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let own = match value.kind() {
        ValueKind::String => string_method(value.as_str().unwrap_or_default(), name, args)?,
        ValueKind::Seq => list_method(value, name, args)?,
        ValueKind::Map => map_method(value, name, args)?,
        _ => None,
    };
    match own {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, name, args),
    }
}

fn string_method(s: &str, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let result = match name {
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(s.strip_prefix(prefix).unwrap_or(s))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(s.strip_suffix(suffix).unwrap_or(s))
        }
        "rsplit" => {
            let (separator, limit): (Option<&str>, Option<i64>) = from_args(args)?;
            Value::from(rsplit(s, separator, limit.unwrap_or(-1))?)
        }
        "partition" => {
            let (separator,): (&str,) = from_args(args)?;
            let (a, b, c) = match s.split_once(separator) {
                Some((before, after)) => (before, separator, after),
                None => (s, "", ""),
            };
            Value::from(Tuple::from([a, b, c].map(Value::from)))
        }
        "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            let (a, b, c) = match s.rsplit_once(separator) {
                Some((before, after)) => (before, separator, after),
                None => ("", "", s),
            };
            Value::from(Tuple::from([a, b, c].map(Value::from)))
        }
        "index" => {
            let (what,): (&str,) = from_args(args)?;
            let at = s.find(what).ok_or_else(|| failed("substring not found"))?;
            Value::from(s[..at].chars().count())
        }
        "casefold" => {
            let () = from_args(args)?;
            Value::from(s.to_lowercase())
        }
        "swapcase" => {
            let () = from_args(args)?;
            Value::from(s.chars().map(swap_case).collect::<String>())
        }
        "isdecimal" => {
            let () = from_args(args)?;
            Value::from(!s.is_empty() && s.chars().all(|c| c.is_ascii_digit()))
        }
        "ljust" | "rjust" | "center" => {
            let (width, fill): (usize, Option<&str>) = from_args(args)?;
            Value::from(pad(s, name, width, fill.unwrap_or(" "))?)
        }
        "zfill" => {
            let (width,): (usize,) = from_args(args)?;
            let (sign, digits) = s.split_at(usize::from(s.starts_with(['+', '-'])));
            Value::from(
                sign.to_string() + &pad(digits, "rjust", width.saturating_sub(sign.len()), "0")?,
            )
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn list_method(value: &Value, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let result = match name {
        "index" => {
            let (what,): (&Value,) = from_args(args)?;
            let at = value.try_iter()?.position(|item| item == *what);
            Value::from(at.ok_or_else(|| failed(&format!("{what} is not in list")))?)
        }
        "copy" => {
            let () = from_args(args)?;
            value.clone()
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn map_method(value: &Value, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match name {
        "copy" => {
            let () = from_args(args)?;
            Ok(Some(value.clone()))
        }
        _ => Ok(None),
    }
}

fn failed(words: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, words.to_string())
}

fn swap_case(c: char) -> String {
    if c.is_uppercase() {
        c.to_lowercase().collect()
    } else {
        c.to_uppercase().collect()
    }
}

fn rsplit(s: &str, separator: Option<&str>, limit: i64) -> Result<Vec<String>, Error> {
    let limit = if limit < 0 {
        usize::MAX
    } else {
        (limit as usize).saturating_add(1)
    };
    let mut parts: Vec<String> = match separator {
        Some("") => return Err(failed("empty separator")),
        Some(separator) => s.rsplitn(limit, separator).map(str::to_string).collect(),
        None => rsplit_whitespace(s, limit),
    };
    parts.reverse();
    Ok(parts)
}

fn rsplit_whitespace(s: &str, limit: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = s.trim_end();
    while !rest.is_empty() {
        let cut = rest
            .rfind(char::is_whitespace)
            .filter(|_| parts.len() + 1 < limit);
        let Some(at) = cut else {
            parts.push(rest.trim_start().to_string());
            break;
        };
        let word = at + rest[at..].chars().next().map_or(1, char::len_utf8);
        parts.push(rest[word..].to_string());
        rest = rest[..at].trim_end();
    }
    parts
}

/// `s` filled up to `width` characters, at most 64 Ki of them.
fn pad(s: &str, side: &str, width: usize, fill: &str) -> Result<String, Error> {
    if fill.chars().count() != 1 || width > 1 << 16 {
        return Err(failed(
            "the fill must be one character and the width at most 65536",
        ));
    }
    let missing = width.saturating_sub(s.chars().count());
    let left = match side {
        "ljust" => 0,
        "rjust" => missing,
        _ => missing / 2 + (missing & width & 1),
    };
    Ok(fill.repeat(left) + s + &fill.repeat(missing - left))
}
