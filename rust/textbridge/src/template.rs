//! A chat template, compiled once and rendered from any thread.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::memory::{Failure, Status};
use crate::{clock, jinja, python, syntax, tojson, value};

const NAME: &str = "chat_template";
/// Steps a rendering may take, besides some for every byte of its variables. A long real
/// conversation takes tens of thousands.
const BASE_FUEL: u64 = 10_000_000;
const FUEL_PER_BYTE: u64 = 4;
/// The greatest prompt text: far beyond any context.
const MAX_OUTPUT: usize = 64 << 20;

pub struct Template {
    environment: Environment<'static>,
    variables: HashSet<String>,
}

/// What `raise_exception` carries through the engine: the template's own words.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

fn raise_exception(message: &Value) -> Result<Value, Error> {
    let words = message.to_string();
    Err(Error::new(ErrorKind::InvalidOperation, words.clone()).with_source(Raised(words)))
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_unknown_method_callback(python::method);
    env.set_debug(false);
    minijinja_contrib::add_to_environment(&mut env);
    jinja::add_to(&mut env);
    env.add_filter("tojson", tojson::tojson);
    env.add_function("raise_exception", raise_exception);
    env.add_function("strftime_now", clock::strftime_now);
    Ok(env)
}

impl Template {
    pub fn compile(source: &str) -> Result<Self, Failure> {
        let mut environment = environment().map_err(failure)?;
        environment
            .add_template_owned(NAME, syntax::rewrite(source))
            .map_err(failure)?;
        let template = environment.get_template(NAME).map_err(failure)?;
        let variables = template.undeclared_variables(false);
        Ok(Template {
            environment,
            variables,
        })
    }

    pub fn reads(&self, name: &str) -> bool {
        self.variables.contains(name)
    }

    /// Renders with the members of a JSON object as variables; `now` as in `tb_template_render`.
    pub fn render(&self, context: &str, now: i64) -> Result<String, Failure> {
        let variables = value::from_json(serde_json::from_str(context)?);
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(BASE_FUEL + FUEL_PER_BYTE * context.len() as u64));
        let template = environment.get_template(NAME).map_err(failure)?;
        let mut out = Bounded(Vec::new());
        clock::at(now, || {
            template
                .render_captured_to(variables.clone(), &mut out)
                .map(|_| ())
        })
        .map_err(failure)?;
        Ok(String::from_utf8(out.0)?)
    }
}

/// Output that refuses to grow without end.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(io::Error::other("the prompt grew beyond 64 MiB"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The template's own words where it raised, else the engine's with the line.
fn failure(error: Error) -> Failure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if let Some(raised) = inner.downcast_ref::<Raised>() {
            return Failure {
                status: Status::Failed,
                words: raised.0.clone(),
            };
        }
        cause = inner.source();
    }
    let mut words = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    if let Some(line) = error.line() {
        words += &format!(" (line {line} of the chat template)");
    }
    Failure {
        status: Status::Failed,
        words,
    }
}
