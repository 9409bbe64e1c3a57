//! The C functions over `grammar`.

use crate::grammar::{Matcher, Vocabulary};
use crate::memory::{guarded, slice, slice_mut, text, Bytes, Status};

/// # Safety
/// The pointers hold what the sizes say; `out` and `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn tb_vocabulary_new(
    pieces: *const u8,
    ends: *const u32,
    count: usize,
    end_ids: *const u32,
    end_count: usize,
    out: *mut *mut Vocabulary,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let ends = slice(ends, count);
        let size = ends.last().map_or(0, |&end| end as usize);
        let made = Vocabulary::new(slice(pieces, size), ends, slice(end_ids, end_count))?;
        *out = Box::into_raw(Box::new(made));
        Ok(())
    })
}

/// # Safety
/// `vocabulary` came from `tb_vocabulary_new`, or is null.
#[no_mangle]
pub unsafe extern "C" fn tb_vocabulary_free(vocabulary: *mut Vocabulary) {
    if !vocabulary.is_null() {
        drop(Box::from_raw(vocabulary));
    }
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_matcher_new(
    vocabulary: *const Vocabulary,
    kind: u32,
    grammar: *const u8,
    size: usize,
    out: *mut *mut Matcher,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        let made = (*vocabulary).matcher(kind, text(grammar, size)?)?;
        *out = Box::into_raw(Box::new(made));
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_matcher_copy(
    matcher: *const Matcher,
    out: *mut *mut Matcher,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        *out = Box::into_raw(Box::new((*matcher).copy()));
        Ok(())
    })
}

/// # Safety
/// `matcher` came from this library, or is null.
#[no_mangle]
pub unsafe extern "C" fn tb_matcher_free(matcher: *mut Matcher) {
    if !matcher.is_null() {
        drop(Box::from_raw(matcher));
    }
}

/// # Safety
/// `words` holds `count` writable values.
#[no_mangle]
pub unsafe extern "C" fn tb_matcher_mask(
    matcher: *mut Matcher,
    words: *mut u32,
    count: usize,
    error: *mut Bytes,
) -> Status {
    guarded(error, || (*matcher).mask(slice_mut(words, count)))
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_matcher_accept(
    matcher: *mut Matcher,
    token: u32,
    error: *mut Bytes,
) -> Status {
    guarded(error, || (*matcher).accept(token))
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_matcher_may_end(
    matcher: *mut Matcher,
    out: *mut bool,
    error: *mut Bytes,
) -> Status {
    guarded(error, || {
        *out = (*matcher).may_end()?;
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn tb_matcher_complete(matcher: *const Matcher) -> bool {
    (*matcher).complete()
}
