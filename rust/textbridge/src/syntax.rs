//! Template sources as minijinja reads them.

/// Rewrites what minijinja reads otherwise than jinja2, statement by statement:
/// * `{% generation %}` blocks only mark the assistant's part for training: what is in them renders
///   as it stands, which `{% if true %}` says too;
/// * `{% for x in y %}` over none is an error in Python: `y` passes through the filter `iterated`.
pub fn rewrite(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut raw = false;
    while let Some((at, close)) = next_tag(rest) {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let end = tag_end(tag, close);
        let words = inner(&tag[..end]);
        raw = close == "%}" && (words == "raw" || (raw && words != "endraw"));
        if close == "%}" && !raw {
            out.push_str(&statement(&tag[..end], words));
        } else {
            out.push_str(&tag[..end]);
        }
        rest = &tag[end..];
    }
    out.push_str(rest);
    out
}

/// Where the next tag begins, and what ends it.
fn next_tag(text: &str) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(1)).find_map(|i| match &bytes[i..i + 2] {
        b"{%" => Some((i, "%}")),
        b"{{" => Some((i, "}}")),
        b"{#" => Some((i, "#}")),
        _ => None,
    })
}

/// The end of the tag at the start of `tag`; its string literals may hold what looks like one.
fn tag_end(tag: &str, close: &str) -> usize {
    if close == "#}" {
        return tag.find(close).map_or(tag.len(), |i| i + 2);
    }
    let bytes = tag.as_bytes();
    let mut i = 2;
    while i < bytes.len() {
        match bytes[i] {
            quote @ (b'"' | b'\'') => i = literal_end(bytes, i, quote),
            _ if tag.as_bytes()[i..].starts_with(close.as_bytes()) => return i + 2,
            _ => i += 1,
        }
    }
    tag.len()
}

/// The index after the string literal that begins at `at`.
fn literal_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut i = at + 1;
    while i < bytes.len() && bytes[i] != quote {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    (i + 1).min(bytes.len())
}

/// The words of a statement without its delimiters and whitespace control.
fn inner(tag: &str) -> &str {
    let words = tag.get(2..tag.len().saturating_sub(2)).unwrap_or("");
    words.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+')
}

fn statement(tag: &str, words: &str) -> String {
    match words {
        "generation" => tag.replacen("generation", "if true", 1),
        "endgeneration" => tag.replacen("endgeneration", "endif", 1),
        _ if words.starts_with("for") => checked_for(tag, words).unwrap_or_else(|| tag.to_string()),
        _ => tag.to_string(),
    }
}

/// `for x in y if z` -> `for x in (y)|iterated if z`.
fn checked_for(tag: &str, words: &str) -> Option<String> {
    let start = top_level_word(words, 3, &["in"])? + 2;
    let end = top_level_word(words, start, &["if", "recursive"]).unwrap_or(words.len());
    let iterable = words[start..end].trim();
    let offset = words.as_ptr() as usize - tag.as_ptr() as usize;
    Some(format!(
        "{} ({iterable})|iterated {}",
        &tag[..offset + start],
        &tag[offset + end..]
    ))
}

/// Where one of `wanted` stands as a word of its own outside brackets and literals.
fn top_level_word(text: &str, from: usize, wanted: &[&str]) -> Option<usize> {
    let bytes = text.as_bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b >= 0x80;
    let (mut i, mut depth) = (from, 0i32);
    while i < bytes.len() {
        match bytes[i] {
            quote @ (b'"' | b'\'') => i = literal_end(bytes, i, quote),
            b'(' | b'[' | b'{' => (i, depth) = (i + 1, depth + 1),
            b')' | b']' | b'}' => (i, depth) = (i + 1, depth - 1),
            b if word(b) => {
                let end = i + bytes[i..]
                    .iter()
                    .position(|b| !word(*b))
                    .unwrap_or(bytes.len() - i);
                if depth == 0 && wanted.contains(&&text[i..end]) {
                    return Some(i);
                }
                i = end;
            }
            _ => i += 1,
        }
    }
    None
}
