//! `tojson` as transformers defines it: Python's `json.dumps` with `ensure_ascii=False`.

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use crate::value::Exponential;

struct Style {
    ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// The filter: `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub fn tojson(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let option = |index: usize, name: &str| -> Result<Value, Error> {
        let named: Option<Value> = named.get(name)?;
        Ok(named.or(positional.get(index).cloned()).unwrap_or_default())
    };
    let (ascii, indent) = (option(0, "ensure_ascii")?, option(1, "indent")?);
    let (separators, sort_keys) = (option(2, "separators")?, option(3, "sort_keys")?);
    named.assert_all_used()?;
    let style = Style::new(ascii.is_true(), &indent, &separators, sort_keys.is_true())?;
    let mut out = String::new();
    style.write(&mut out, value, 0)?;
    Ok(out)
}

impl Style {
    fn new(
        ascii: bool,
        indent: &Value,
        separators: &Value,
        sort_keys: bool,
    ) -> Result<Self, Error> {
        let indent = match (indent.as_i64(), indent.as_str()) {
            (Some(width), _) => Some(" ".repeat(width.clamp(0, 64) as usize)),
            (_, Some(text)) => Some(text.to_string()),
            _ => None,
        };
        let mut item_separator = if indent.is_some() { "," } else { ", " }.to_string();
        let mut key_separator = ": ".to_string();
        if !separators.is_none() && !separators.is_undefined() {
            let pair: Vec<Value> = separators.try_iter()?.collect();
            let [item, key] = pair.as_slice() else {
                return Err(Error::new(
                    ErrorKind::InvalidOperation,
                    "separators is no pair",
                ));
            };
            (item_separator, key_separator) = (item.to_string(), key.to_string());
        }
        Ok(Style {
            ascii,
            indent,
            item_separator,
            key_separator,
            sort_keys,
        })
    }

    fn write(&self, out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
        if let Some(float) = value.downcast_object_ref::<Exponential>() {
            out.push_str(&python_float(float.0));
            return Ok(());
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&number(value)),
            ValueKind::String => self.string(out, value.as_str().unwrap_or_default()),
            ValueKind::Seq => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.enclose(out, '[', ']', items.len(), depth, |out, i| {
                    self.write(out, &items[i], depth + 1)
                })?;
            }
            ValueKind::Map => self.map(out, value, depth)?,
            kind => {
                return Err(Error::new(
                    ErrorKind::InvalidOperation,
                    format!(
                        "Object of type {} is not JSON serializable",
                        python_type(kind)
                    ),
                ))
            }
        }
        Ok(())
    }

    fn map(&self, out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
        let mut entries = Vec::new();
        for key in value.try_iter()? {
            let item = value.get_item(&key)?;
            entries.push((key_text(&key), item));
        }
        if self.sort_keys {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
        }
        self.enclose(out, '{', '}', entries.len(), depth, |out, i| {
            self.string(out, &entries[i].0);
            out.push_str(&self.key_separator);
            self.write(out, &entries[i].1, depth + 1)
        })
    }

    fn enclose(
        &self,
        out: &mut String,
        open: char,
        close: char,
        count: usize,
        depth: usize,
        mut item: impl FnMut(&mut String, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        out.push(open);
        for i in 0..count {
            if i > 0 {
                out.push_str(&self.item_separator);
            }
            self.new_line(out, depth + 1);
            item(out, i)?;
        }
        if count > 0 {
            self.new_line(out, depth);
        }
        out.push(close);
        Ok(())
    }

    fn new_line(&self, out: &mut String, depth: usize) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            out.push_str(&indent.repeat(depth));
        }
    }

    fn string(&self, out: &mut String, text: &str) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || (self.ascii && !(' '..='~').contains(&c)) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(x) if x.is_nan() => "NaN".to_string(),
        Ok(x) if x.is_infinite() => if x > 0.0 { "Infinity" } else { "-Infinity" }.to_string(),
        Ok(x) => python_float(x),
        Err(_) => value.to_string(),
    }
}

/// `repr` of a finite Python float: the shortest digits that read back, with an exponent below
/// 1e-4 and from 1e16 on.
pub fn python_float(x: f64) -> String {
    let scientific = format!("{x:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{x}");
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

fn key_text(key: &Value) -> String {
    match key.kind() {
        ValueKind::None => "null".to_string(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.to_string(),
        ValueKind::Number => number(key),
        _ => key.to_string(),
    }
}

fn python_type(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Undefined => "Undefined",
        ValueKind::Bytes => "bytes",
        ValueKind::Iterable => "generator",
        _ => "object",
    }
}
