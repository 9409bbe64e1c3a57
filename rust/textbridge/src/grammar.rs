//! llguidance: a vocabulary as a trie of bytes, and matchers that say which tokens may come next.

use std::panic::resume_unwind;
use std::sync::Arc;

use llguidance::api::{GrammarWithLexer, StopReason, TopLevelGrammar};
use llguidance::earley::SlicedBiasComputer;
use llguidance::{Matcher as Library, ParserFactory};
use toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};

use crate::memory::Failure;

/// `tb_grammar_kind`.
const JSON_SCHEMA: u32 = 0;
const LARK: u32 = 1;
const REGEX: u32 = 2;

/// Compiling walks schemas and grammars recursively; a stranger's may be deep.
const COMPILER_STACK: usize = 64 << 20;

pub struct Vocabulary {
    factory: ParserFactory,
    end_ids: Vec<u32>,
}

impl Vocabulary {
    /// `pieces` is the bytes of all tokens back to back, `ends[i]` the end of token i. A token of
    /// no bytes is never allowed; one of `end_ids` is allowed where the grammar may end.
    pub fn new(pieces: &[u8], ends: &[u32], end_ids: &[u32]) -> Result<Self, Failure> {
        if end_ids.is_empty() {
            return Err(Failure::from("the model has no id that ends a turn"));
        }
        let mut words = Vec::with_capacity(ends.len());
        let mut begin = 0;
        for &end in ends {
            words.push(pieces[begin..end as usize].to_vec());
            begin = end as usize;
        }
        let info = TokRxInfo::new(words.len() as u32, end_ids[0]);
        let trie = TokTrie::from(&info, &words).with_eos_tokens(end_ids);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new(
            &environment,
            InferenceCapabilities::default(),
            &SlicedBiasComputer::json_slices(),
        )?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Vocabulary {
            factory,
            end_ids: end_ids.to_vec(),
        })
    }

    /// Compiles on a thread of its own, for its stack.
    pub fn matcher(&self, kind: u32, text: &str) -> Result<Matcher, Failure> {
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(COMPILER_STACK);
            let compiler = builder.spawn_scoped(scope, || self.compile(kind, text))?;
            compiler.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    fn compile(&self, kind: u32, text: &str) -> Result<Matcher, Failure> {
        let grammar = match kind {
            JSON_SCHEMA => GrammarWithLexer::from_json_schema(serde_json::from_str(text)?),
            LARK => GrammarWithLexer::from_lark(text.to_string()),
            REGEX => GrammarWithLexer::from_regex(text),
            _ => return Err(Failure::from(format!("grammar kind {kind} is unknown"))),
        };
        let parser = self
            .factory
            .create_parser(TopLevelGrammar::from_grammar(grammar))?;
        let library = Library::new(Ok(parser));
        match library.get_error() {
            Some(words) => Err(Failure::from(words)),
            None => Ok(Matcher {
                library,
                end_ids: self.end_ids.clone(),
            }),
        }
    }
}

pub struct Matcher {
    library: Library,
    end_ids: Vec<u32>,
}

impl Matcher {
    /// A matcher in the same state that shares nothing with this one.
    pub fn copy(&self) -> Self {
        Matcher {
            library: self.library.deep_clone(),
            end_ids: self.end_ids.clone(),
        }
    }

    /// Sets the bit of every token that may come next; a complete grammar allows the ends alone.
    pub fn mask(&mut self, words: &mut [u32]) -> Result<(), Failure> {
        words.fill(0);
        if self.complete() {
            for &id in &self.end_ids {
                if let Some(word) = words.get_mut(id as usize / 32) {
                    *word |= 1 << (id % 32);
                }
            }
            return Ok(());
        }
        let mask = self.library.compute_mask()?;
        let bits = mask.as_slice();
        let shared = bits.len().min(words.len());
        words[..shared].copy_from_slice(&bits[..shared]);
        Ok(())
    }

    pub fn accept(&mut self, token: u32) -> Result<(), Failure> {
        self.library.consume_token(token)?;
        match self.library.stop_reason() {
            StopReason::NotStopped | StopReason::NoExtension | StopReason::EndOfSentence => Ok(()),
            reason => Err(Failure::from(format!("the matcher stopped: {reason}"))),
        }
    }

    /// Whether the text so far is a whole sentence of the grammar.
    pub fn may_end(&mut self) -> Result<bool, Failure> {
        Ok(self.complete() || self.library.is_accepting()?)
    }

    /// Whether nothing but an end may follow.
    pub fn complete(&self) -> bool {
        matches!(
            self.library.stop_reason(),
            StopReason::NoExtension | StopReason::EndOfSentence
        )
    }
}
