/* Hugging Face tokenizers, minijinja and llguidance for C and C++. Every function is thread-safe;
 * nothing here unwinds or aborts: a panic of the libraries becomes an error like any other. */
#ifndef TEXTBRIDGE_H
#define TEXTBRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tb_tokenizer tb_tokenizer;
typedef struct tb_template tb_template;

/* Owned memory; give it back with the function of its type. `data` is null when it is empty. */
typedef struct tb_bytes {
  uint8_t* data;
  size_t size;
} tb_bytes;
typedef struct tb_ids {
  uint32_t* data;
  size_t size;
} tb_ids;
void tb_bytes_free(tb_bytes bytes);
void tb_ids_free(tb_ids ids);

/* What went wrong. TB_OK leaves the out-parameters of the result set and `error` empty;
 * every other status leaves the library's words in `error`. */
typedef enum tb_status {
  TB_OK = 0,
  TB_INVALID_UTF8 = 1, /* an argument is no UTF-8 */
  TB_FAILED = 2,       /* the library refused: a broken document, a template's own complaint */
  TB_PANICKED = 3      /* a fault of the library */
} tb_status;

/* tokenizer.json -> a tokenizer without truncation and padding. */
tb_status tb_tokenizer_new(const uint8_t* json, size_t size, tb_tokenizer** out, tb_bytes* error);
void tb_tokenizer_free(tb_tokenizer* tokenizer);

/* add_special runs the post-processor; parse_markers = false reads added tokens that are special
 * or spelled like a marker (<...>, [...]) as plain text. */
tb_status tb_tokenizer_encode(const tb_tokenizer* tokenizer, const uint8_t* text, size_t size,
                              bool add_special, bool parse_markers, tb_ids* out, tb_bytes* error);
tb_status tb_tokenizer_decode(const tb_tokenizer* tokenizer, const uint32_t* ids, size_t count,
                              bool skip_special, tb_bytes* out, tb_bytes* error);

/* The id of a vocabulary or added token, or -1. */
int64_t tb_tokenizer_id(const tb_tokenizer* tokenizer, const uint8_t* piece, size_t size);

/* Every id from 0 to the greatest: `pieces` is the text of all, back to back, as decoding sees it;
 * `ends[i]` is the end of piece i in it; `flags[i]` is a sum of the values below. `count` is the
 * number of distinct entries. */
enum { TB_KNOWN = 1, TB_SPECIAL = 2, TB_ADDED = 4, TB_MARKER = 8 };
tb_status tb_tokenizer_table(const tb_tokenizer* tokenizer, tb_bytes* pieces, tb_ids* ends,
                             tb_bytes* flags, size_t* count, tb_bytes* error);

/* "normalizer", "pre_tokenizer", "post_processor" and "decoder" of tokenizer.json, as JSON. */
tb_status tb_tokenizer_parts(const tb_tokenizer* tokenizer, tb_bytes* out, tb_bytes* error);

/* Compiles a chat template as transformers does: trim_blocks, lstrip_blocks, loop controls,
 * generation blocks, tojson, raise_exception, strftime_now. */
tb_status tb_template_new(const uint8_t* source, size_t size, tb_template** out, tb_bytes* error);
void tb_template_free(tb_template* compiled);

/* Renders with the JSON object `context` as variables. The work and the output are bounded.
 * `now` is what strftime_now tells, in seconds since 1970; negative: the clock. */
tb_status tb_template_render(const tb_template* compiled, const uint8_t* context, size_t size,
                             int64_t now, tb_bytes* out, tb_bytes* error);

/* Whether the template reads the variable `name`. */
bool tb_template_reads(const tb_template* compiled, const uint8_t* name, size_t size);

/* Constrained decoding (llguidance). A vocabulary is shared by threads; a matcher belongs to one
 * thread at a time. */
typedef struct tb_vocabulary tb_vocabulary;
typedef struct tb_matcher tb_matcher;

/* `pieces` is the bytes of every token back to back, `ends[i]` the end of token i in it. A control
 * token begins with the byte 0xFF, which no text matches. `end_ids` (at least one) end a turn. */
tb_status tb_vocabulary_new(const uint8_t* pieces, const uint32_t* ends, size_t count,
                            const uint32_t* end_ids, size_t end_count, tb_vocabulary** out,
                            tb_bytes* error);
void tb_vocabulary_free(tb_vocabulary* vocabulary);

/* Compiles a grammar: a JSON schema (with "x-guidance" for its options), llguidance's Lark, or a
 * regular expression that the whole text must match. */
typedef enum tb_grammar_kind { TB_JSON_SCHEMA = 0, TB_LARK = 1, TB_REGEX = 2 } tb_grammar_kind;
tb_status tb_matcher_new(const tb_vocabulary* vocabulary, tb_grammar_kind kind,
                         const uint8_t* grammar, size_t size, tb_matcher** out, tb_bytes* error);
/* A matcher in the same state that shares nothing with the first. */
tb_status tb_matcher_copy(const tb_matcher* matcher, tb_matcher** out, tb_bytes* error);
void tb_matcher_free(tb_matcher* matcher);

/* Bit i of `words` is set when token i may come next; the ends among them where the text may end.
 * A state from which nothing may come is TB_FAILED. */
tb_status tb_matcher_mask(tb_matcher* matcher, uint32_t* words, size_t count, tb_bytes* error);
tb_status tb_matcher_accept(tb_matcher* matcher, uint32_t token, tb_bytes* error);
/* Whether the text so far is a whole sentence; whether nothing but an end may follow it. */
tb_status tb_matcher_may_end(tb_matcher* matcher, bool* out, tb_bytes* error);
bool tb_matcher_complete(const tb_matcher* matcher);

#ifdef __cplusplus
}
#endif

#endif
