//! JSON as template values.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr};
use minijinja::Value;
use serde_json::Value as Json;

use crate::tojson::python_float;

/// A float that Python prints with an exponent, which minijinja would write out: 1e+16, 1.5e-07.
pub struct Exponential(pub f64);

impl fmt::Debug for Exponential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_float(self.0))
    }
}

impl Object for Exponential {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_float(self.0))
    }
}

pub fn from_json(json: Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(value),
        Json::String(text) => Value::from(text),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => Value::from(value),
            (_, Some(value), _) => Value::from(value),
            (_, _, Some(value)) => from_float(value),
            _ => Value::from(number.to_string()),
        },
        Json::Array(items) => items.into_iter().map(from_json).collect::<Vec<_>>().into(),
        Json::Object(members) => Value::from_pairs(
            members
                .into_iter()
                .map(|(key, value)| (key, from_json(value))),
        ),
    }
}

fn from_float(value: f64) -> Value {
    if python_float(value).contains('e') {
        Value::from_object(Exponential(value))
    } else {
        Value::from(value)
    }
}
