//! The C interface of `include/textbridge.h`: pointers in, owned memory out, no panic across.

mod clock;
mod grammar;
mod grammar_api;
mod jinja;
mod memory;
mod python;
mod syntax;
mod template;
mod tojson;
mod tokenizer;
mod value;

use memory::{guarded, text, Bytes, Failure, Ids, Status};
use template::Template;
use tokenizer::Tokenizer;

/// # Safety
/// `json` points at `size` bytes; `out` and `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn tb_tokenizer_new(
    json: *const u8,
    size: usize,
    out: *mut *mut Tokenizer,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let tokenizer = Tokenizer::from_json(text(json, size)?)?;
        *out = Box::into_raw(Box::new(tokenizer));
        Ok(())
    })
}

/// # Safety
/// `tokenizer` came from `tb_tokenizer_new`, or is null.
#[no_mangle]
pub unsafe extern "C" fn tb_tokenizer_free(tokenizer: *mut Tokenizer) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_tokenizer_encode(
    tokenizer: *const Tokenizer,
    input: *const u8,
    size: usize,
    add_special: bool,
    parse_markers: bool,
    out: *mut Ids,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let input = text(input, size)?;
        let ids = if parse_markers {
            (*tokenizer).encode(input, add_special)?
        } else {
            (*tokenizer).encode_plain(input, add_special)?
        };
        *out = Ids::from(ids);
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_tokenizer_decode(
    tokenizer: *const Tokenizer,
    ids: *const u32,
    count: usize,
    skip_special: bool,
    out: *mut Bytes,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let decoded = (*tokenizer).decode(memory::slice(ids, count), skip_special)?;
        *out = Bytes::from(decoded.into_bytes());
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_tokenizer_id(
    tokenizer: *const Tokenizer,
    piece: *const u8,
    size: usize,
) -> i64 {
    let mut id = -1;
    let mut words = Bytes::from(Vec::new());
    guarded(&mut words, || {
        id = (*tokenizer).id(text(piece, size)?).map_or(-1, i64::from);
        Ok(())
    });
    tb_bytes_free(words);
    id
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_tokenizer_table(
    tokenizer: *const Tokenizer,
    pieces: *mut Bytes,
    ends: *mut Ids,
    flags: *mut Bytes,
    count: *mut usize,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let table = (*tokenizer).table();
        *pieces = Bytes::from(table.pieces);
        *ends = Ids::from(table.ends);
        *flags = Bytes::from(table.flags);
        *count = table.count;
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_tokenizer_parts(
    tokenizer: *const Tokenizer,
    out: *mut Bytes,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        *out = Bytes::from((*tokenizer).parts()?.into_bytes());
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_template_new(
    source: *const u8,
    size: usize,
    out: *mut *mut Template,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let template = Template::compile(text(source, size)?)?;
        *out = Box::into_raw(Box::new(template));
        Ok(())
    })
}

/// # Safety
/// `compiled` came from `tb_template_new`, or is null.
#[no_mangle]
pub unsafe extern "C" fn tb_template_free(compiled: *mut Template) {
    if !compiled.is_null() {
        drop(Box::from_raw(compiled));
    }
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_template_render(
    compiled: *const Template,
    context: *const u8,
    size: usize,
    now: i64,
    out: *mut Bytes,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let rendered = (*compiled).render(text(context, size)?, now)?;
        *out = Bytes::from(rendered.into_bytes());
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_template_reads(
    compiled: *const Template,
    name: *const u8,
    size: usize,
) -> bool {
    match text(name, size) {
        Ok(name) => (*compiled).reads(name),
        Err(Failure { .. }) => false,
    }
}

/// # Safety
/// `bytes` came from this library and was not freed yet.
#[no_mangle]
pub unsafe extern "C" fn tb_bytes_free(bytes: Bytes) {
    bytes.free();
}

/// # Safety
/// `ids` came from this library and was not freed yet.
#[no_mangle]
pub unsafe extern "C" fn tb_ids_free(ids: Ids) {
    ids.free();
}
