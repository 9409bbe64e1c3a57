//! A tokenizer.json with its markers, and a second view of it in which markers are plain text.

use std::collections::HashMap;
use std::sync::OnceLock;

use tokenizers::tokenizer::{
    AddedVocabulary, Model, NormalizerWrapper, OffsetType, PreTokenizer, Tokenizer as Library,
};
use tokenizers::{AddedToken, Encoding};

use crate::memory::Failure;

pub const KNOWN: u8 = 1;
pub const SPECIAL: u8 = 2;
pub const ADDED: u8 = 4;
pub const MARKER: u8 = 8;

/// The added tokens that stay tokens where markers are text. `ids` leads from the id that the
/// library gives a token there to its real one.
struct PlainVocabulary {
    added: AddedVocabulary,
    ids: HashMap<u32, u32>,
}

pub struct Tokenizer {
    library: Library,
    markers: HashMap<u32, String>,
    plain: OnceLock<PlainVocabulary>,
}

/// What `tb_tokenizer_table` gives.
pub struct Table {
    pub pieces: Vec<u8>,
    pub ends: Vec<u32>,
    pub flags: Vec<u8>,
    pub count: usize,
}

fn is_marker(token: &AddedToken) -> bool {
    let text = token.content.trim();
    let enclosed = |open, close| text.len() > 2 && text.starts_with(open) && text.ends_with(close);
    token.special || enclosed('<', '>') || enclosed('[', ']')
}

impl Tokenizer {
    pub fn from_json(json: &str) -> Result<Self, Failure> {
        let mut library = Library::from_bytes(json.as_bytes())?;
        library.with_padding(None);
        library.with_truncation(None)?;
        let markers = library
            .get_added_vocabulary()
            .get_added_tokens_decoder()
            .iter()
            .filter(|(_, token)| is_marker(token))
            .map(|(id, token)| (*id, token.content.clone()))
            .collect();
        Ok(Tokenizer {
            library,
            markers,
            plain: OnceLock::new(),
        })
    }

    pub fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, Failure> {
        Ok(self
            .library
            .encode_fast(text, add_special)?
            .get_ids()
            .to_vec())
    }

    /// Encodes with every marker read as text. A vocabulary that spells a marker as an ordinary
    /// entry too would give its id all the same: such a text is cut inside the marker.
    pub fn encode_plain(&self, text: &str, add_special: bool) -> Result<Vec<u32>, Failure> {
        let encoding = self.plain_encoding(text)?;
        let found = encoding
            .get_ids()
            .iter()
            .find_map(|id| self.markers.get(id));
        let parts = found.map_or_else(Vec::new, |marker| cut_inside(text, marker));
        if parts.len() > 1 {
            let encoded = parts.iter().map(|part| self.encode_plain(part, false));
            return Ok(encoded.collect::<Result<Vec<_>, _>>()?.concat());
        }
        let encoding = self.library.post_process(encoding, None, add_special)?;
        Ok(self.real_ids(encoding.get_ids()))
    }

    fn plain_encoding(&self, text: &str) -> Result<Encoding, Failure> {
        let normalizer = self.library.get_normalizer();
        let mut parts = self
            .plain_vocabulary()?
            .added
            .extract_and_normalize(normalizer, text);
        if let Some(pre_tokenizer) = self.library.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut parts)?;
        }
        self.library
            .get_model()
            .tokenize_in_pretokenized(&mut parts, None)?;
        Ok(parts.into_encoding(None, 0, OffsetType::None)?)
    }

    fn plain_vocabulary(&self) -> Result<&PlainVocabulary, Failure> {
        if let Some(plain) = self.plain.get() {
            return Ok(plain);
        }
        let model = self.library.get_model();
        let all = self
            .library
            .get_added_vocabulary()
            .get_added_tokens_decoder();
        let mut kept: Vec<_> = all
            .iter()
            .filter(|(id, _)| !self.markers.contains_key(id))
            .collect();
        kept.sort_by_key(|(id, _)| **id);
        let mut added = AddedVocabulary::new();
        added.add_tokens::<NormalizerWrapper>(
            kept.iter().map(|(_, token)| (*token).clone()),
            model,
            self.library.get_normalizer(),
        )?;
        let ids = kept
            .iter()
            .filter_map(|(id, token)| {
                let given = added.token_to_id(&token.content, model)?;
                (given != **id).then_some((given, **id))
            })
            .collect();
        Ok(self.plain.get_or_init(|| PlainVocabulary { added, ids }))
    }

    fn real_ids(&self, ids: &[u32]) -> Vec<u32> {
        let real = self.plain.get().map(|plain| &plain.ids);
        let look = |id: &u32| real.and_then(|r| r.get(id)).copied().unwrap_or(*id);
        ids.iter().map(look).collect()
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, Failure> {
        Ok(self.library.decode(ids, skip_special)?)
    }

    pub fn id(&self, piece: &str) -> Option<u32> {
        self.library.token_to_id(piece)
    }

    /// The parts around the model that decide decoding, as tokenizer.json spells them, and whether an added
    /// token swallows the white space beside it.
    pub fn parts(&self) -> Result<String, Failure> {
        let added = self.library.get_added_vocabulary().get_added_tokens_decoder();
        let parts = serde_json::json!({
            "normalizer": self.library.get_normalizer(),
            "pre_tokenizer": self.library.get_pre_tokenizer(),
            "post_processor": self.library.get_post_processor(),
            "decoder": self.library.get_decoder(),
            "strips": added.values().any(|token| token.lstrip || token.rstrip),
        });
        Ok(parts.to_string())
    }

    pub fn table(&self) -> Table {
        let added = self.library.get_added_vocabulary();
        let mut entries: HashMap<u32, (String, u8)> = HashMap::new();
        for (piece, id) in self.library.get_model().get_vocab() {
            let special = if added.is_special_token(&piece) {
                SPECIAL
            } else {
                0
            };
            entries.insert(id, (piece, KNOWN | special));
        }
        for (id, token) in added.get_added_tokens_decoder() {
            let piece = added
                .simple_id_to_token(*id)
                .unwrap_or_else(|| token.content.clone());
            let special = if added.is_special_token(&piece) {
                SPECIAL
            } else {
                0
            };
            let marker = if is_marker(token) { MARKER } else { 0 };
            entries.insert(*id, (piece, KNOWN | ADDED | special | marker));
        }
        self.lay_out(entries)
    }

    fn lay_out(&self, entries: HashMap<u32, (String, u8)>) -> Table {
        // Ids far beyond the number of entries come from a broken file: no table is made for them.
        let limit = entries.len().saturating_mul(16).max(1 << 20) as u32;
        let size = entries
            .keys()
            .filter(|id| **id < limit)
            .max()
            .map_or(0, |id| *id as usize + 1);
        let mut table = Table {
            pieces: Vec::new(),
            ends: Vec::with_capacity(size),
            flags: Vec::with_capacity(size),
            count: self.library.get_vocab_size(true),
        };
        for id in 0..size as u32 {
            let (piece, flags) = entries.get(&id).map_or(("", 0), |(p, f)| (p.as_str(), *f));
            table.pieces.extend_from_slice(piece.as_bytes());
            table.ends.push(table.pieces.len() as u32);
            table.flags.push(flags);
        }
        table
    }
}

/// `text` cut after the first character of every `marker` in it.
fn cut_inside<'a>(text: &'a str, marker: &str) -> Vec<&'a str> {
    let first = marker.chars().next().map_or(0, char::len_utf8);
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(marker) {
        parts.push(&text[from..at + first]);
        from = at + first;
    }
    parts.push(&text[from..]);
    parts.retain(|part| !part.is_empty());
    parts
}
