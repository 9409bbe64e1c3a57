//! Template sources as minijinja reads them.

/// `{% generation %}` blocks only mark the assistant's part for training: what is in them renders
/// as it stands, which `{% if true %}` says too.
pub fn rewrite(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%").or(rest.find("{#")).min(rest.find("{#").or(rest.find("{%"))) {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let close = if tag.starts_with("{#") { "#}" } else { "%}" };
        let end = tag.find(close).map_or(tag.len(), |i| i + close.len());
        out.push_str(&statement(&tag[..end]));
        rest = &tag[end..];
    }
    out.push_str(rest);
    out
}

/// One `{% ... %}`, with its generation tag replaced.
fn statement(tag: &str) -> String {
    let inner = tag.trim_start_matches("{%").trim_end_matches("%}");
    match inner.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+') {
        "generation" => tag.replacen("generation", "if true", 1),
        "endgeneration" => tag.replacen("endgeneration", "endif", 1),
        _ => tag.to_string(),
    }
}
