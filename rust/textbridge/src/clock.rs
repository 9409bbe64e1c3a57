//! `strftime_now`: the local time, through the C library as Python's datetime formats it.

use std::cell::Cell;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::{Error, ErrorKind};

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(-1) };
}

/// Runs `work` with `now` as the time in seconds since 1970; negative: the clock's.
pub fn at<T>(now: i64, work: impl FnOnce() -> T) -> T {
    NOW.with(|cell| cell.set(now));
    work()
}

pub fn strftime_now(format: &str) -> Result<String, Error> {
    let refused = |words: &'static str| Error::new(ErrorKind::InvalidOperation, words);
    let fixed = NOW.with(Cell::get);
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = if fixed >= 0 {
        fixed
    } else {
        since.as_secs() as i64
    } as libc::time_t;
    let micros = if fixed >= 0 { 0 } else { since.subsec_micros() };
    let format = format.replace("%f", &format!("{micros:06}"));
    if format.is_empty() || format.len() > 1024 {
        return if format.is_empty() {
            Ok(format)
        } else {
            Err(refused("strftime_now: too long"))
        };
    }
    let format = CString::new(format).map_err(|_| refused("strftime_now: a NUL in the format"))?;
    let mut time = MaybeUninit::<libc::tm>::zeroed();
    let mut buffer = [0u8; 8192];
    // SAFETY: `time` is written before it is read; the buffer's size is given.
    let size = unsafe {
        if libc::localtime_r(&seconds, time.as_mut_ptr()).is_null() {
            return Err(refused("strftime_now: no local time"));
        }
        let time = time.assume_init();
        libc::strftime(
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            format.as_ptr(),
            &time,
        )
    };
    Ok(String::from_utf8_lossy(&buffer[..size]).into_owned())
}
