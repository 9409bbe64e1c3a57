//! Filters and tests whose answers differ between minijinja and jinja2.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{filters, Environment, Error, ErrorKind, State, Value};

use crate::value::Exponential;

pub fn add_to(env: &mut Environment) {
    env.add_filter("iterated", iterated);
    env.add_filter("indent", indent);
    env.add_filter("map", map);
    env.add_filter("select", select);
    env.add_filter("reject", reject);
    env.add_filter("selectattr", selectattr);
    env.add_filter("rejectattr", rejectattr);
    env.add_test("iterable", is_iterable);
    env.add_test("sequence", is_sequence);
    env.add_test("number", |value: &Value| {
        matches!(value.kind(), ValueKind::Number | ValueKind::Bool) || is_exponential(value)
    });
    env.add_test("float", |value: &Value| {
        (value.kind() == ValueKind::Number && !value.is_integer()) || is_exponential(value)
    });
    env.add_test("callable", |value: &Value| {
        value.kind() == ValueKind::Plain && !is_exponential(value)
    });
}

/// What a `for` loop iterates over.
fn iterated(value: Value) -> Result<Value, Error> {
    if value.is_none() {
        let words = "'NoneType' object is not iterable";
        return Err(Error::new(ErrorKind::InvalidOperation, words));
    }
    Ok(value)
}

/// `indent(width=4, first=False, blank=False)`; a newline at the end stays. `width` may be a text.
fn indent(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let option = |index: usize, name: &str| -> Result<Value, Error> {
        let named: Option<Value> = named.get(name)?;
        Ok(named.or(positional.get(index).cloned()).unwrap_or_default())
    };
    let (width, first, blank) = (
        option(0, "width")?,
        option(1, "first")?,
        option(2, "blank")?,
    );
    named.assert_all_used()?;
    let margin = match width.as_str() {
        Some(text) => text.to_string(),
        None => " ".repeat(width.as_i64().unwrap_or(4).clamp(0, 1024) as usize),
    };
    let text = value.to_string();
    let mut out = String::with_capacity(text.len() + margin.len());
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        if (i == 0 && first.is_true()) || (i > 0 && (blank.is_true() || !line.is_empty())) {
            out.push_str(&margin);
        }
        out.push_str(line.strip_suffix('\r').unwrap_or(line));
    }
    Ok(out)
}

/// jinja2 gives a generator: true even when it is empty, without a length, used up by one pass.
fn generator(values: Vec<Value>) -> Value {
    Value::make_one_shot_iterator(values.into_iter())
}

type Arguments = Rest<ValueOrKwargs>;
type Name<'a> = Option<Cow<'a, str>>;

fn map(state: &mut State, value: Value, args: Arguments) -> Result<Value, Error> {
    filters::map(state, value, args).map(generator)
}

fn select(state: &mut State, value: Value, test: Name, args: Arguments) -> Result<Value, Error> {
    filters::select(state, value, test, args).map(generator)
}

fn reject(state: &mut State, value: Value, test: Name, args: Arguments) -> Result<Value, Error> {
    filters::reject(state, value, test, args).map(generator)
}

fn selectattr(
    state: &mut State,
    value: Value,
    attribute: Cow<'_, str>,
    test: Name,
    args: Arguments,
) -> Result<Value, Error> {
    filters::selectattr(state, value, attribute, test, args).map(generator)
}

fn rejectattr(
    state: &mut State,
    value: Value,
    attribute: Cow<'_, str>,
    test: Name,
    args: Arguments,
) -> Result<Value, Error> {
    filters::rejectattr(state, value, attribute, test, args).map(generator)
}

fn is_exponential(value: &Value) -> bool {
    value.downcast_object_ref::<Exponential>().is_some()
}

fn is_iterable(value: &Value) -> bool {
    is_sequence(value) || value.kind() == ValueKind::Iterable
}

/// What has a length and items: strings, mappings and undefined values too.
fn is_sequence(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Seq
            | ValueKind::Map
            | ValueKind::String
            | ValueKind::Bytes
            | ValueKind::Undefined
    )
}
