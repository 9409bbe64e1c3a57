//! Memory and errors at the border to C.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// `tb_status`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    Ok = 0,
    InvalidUtf8 = 1,
    Failed = 2,
    Panicked = 3,
}

/// A status other than `Ok`, with words.
pub struct Failure {
    pub status: Status,
    pub words: String,
}

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure {
            status: Status::Failed,
            words: error.to_string(),
        }
    }
}

/// An owned vector handed to C: pointer and size, capacity equal to size.
#[repr(C)]
pub struct Owned<T> {
    data: *mut T,
    size: usize,
}
pub type Bytes = Owned<u8>;
pub type Ids = Owned<u32>;

impl<T> From<Vec<T>> for Owned<T> {
    fn from(values: Vec<T>) -> Self {
        if values.is_empty() {
            return Owned {
                data: std::ptr::null_mut(),
                size: 0,
            };
        }
        let values = Box::leak(values.into_boxed_slice());
        Owned {
            data: values.as_mut_ptr(),
            size: values.len(),
        }
    }
}

impl<T> Owned<T> {
    /// # Safety
    /// The memory came from `From` and is freed once.
    pub unsafe fn free(self) {
        if !self.data.is_null() {
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
                self.data, self.size,
            )));
        }
    }
}

/// # Safety
/// `data` points at `size` values, or `size` is 0.
pub unsafe fn slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, size)
    }
}

/// # Safety
/// `data` points at `size` writable values, or `size` is 0.
pub unsafe fn slice_mut<'a, T>(data: *mut T, size: usize) -> &'a mut [T] {
    if size == 0 {
        &mut []
    } else {
        std::slice::from_raw_parts_mut(data, size)
    }
}

/// # Safety
/// `data` points at `size` bytes, or `size` is 0.
pub unsafe fn text<'a>(data: *const u8, size: usize) -> Result<&'a str, Failure> {
    std::str::from_utf8(slice(data, size)).map_err(|e| Failure {
        status: Status::InvalidUtf8,
        words: format!("invalid UTF-8 at byte {}", e.valid_up_to()),
    })
}

/// Runs `work`; puts the words of a failure or of a panic into `error`.
///
/// # Safety
/// `error` is writable.
pub unsafe fn guarded(error: *mut Bytes, work: impl FnOnce() -> Result<(), Failure>) -> Status {
    *error = Bytes::from(Vec::new());
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure {
            status: Status::Panicked,
            words: panic_words(&*payload),
        },
    };
    *error = Bytes::from(failure.words.into_bytes());
    failure.status
}

fn panic_words(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the text library failed".to_string())
}
