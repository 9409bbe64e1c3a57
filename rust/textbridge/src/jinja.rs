//! Filters and tests whose answers differ between minijinja and jinja2.

use std::borrow::Cow;

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{filters, Environment, Error, ErrorKind, State, Value};

use crate::value::Exponential;

pub fn add_to(env: &mut Environment) {
    env.add_filter("iterated", iterated);
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
