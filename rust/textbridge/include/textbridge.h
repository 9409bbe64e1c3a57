/* Hugging Face tokenizers and minijinja for C and C++. Every function is thread-safe; nothing here
 * unwinds or aborts: a panic of the libraries becomes an error like any other. */
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

#ifdef __cplusplus
}
#endif

#endif
