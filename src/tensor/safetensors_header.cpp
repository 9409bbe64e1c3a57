#include "tensor/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace hearth::tensor {
namespace {

/// Receives the parser's events. Returning false ends the parse; `problem` says why.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader header;
  std::string problem;

  /// MLX's own writer says "__metadata__": null where there is none.
  bool null() override { return (depth_ == 1 && in_metadata_) || scalar("null"); }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool number_integer(number_integer_t value) override { return scalar(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text); }
  bool binary(binary_t&) override { return scalar("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 3 && in_array_ && field_ == Field::shape) {
      header.entries.back().shape.push_back(value);
      return true;
    }
    if (depth_ == 3 && in_array_ && field_ == Field::offsets) {
      if (offsets_ >= 2) return refuse("data_offsets has more than 2 numbers");
      auto& entry = header.entries.back();
      (offsets_++ == 0 ? entry.begin : entry.end) = value;
      return true;
    }
    return scalar(fmt::format("{}", value));
  }

  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata_) {
      header.metadata.insert_or_assign(key_, std::move(value));
      return true;
    }
    if (depth_ == 2 && field_ == Field::dtype) {
      header.entries.back().dtype = std::move(value);
      return true;
    }
    return scalar("a string");
  }

  bool key(string_t& name) override {
    if (depth_ == 1) return start_tensor(std::move(name));
    if (depth_ != 2) return true;  // inside an unknown field
    if (in_metadata_) {
      key_ = std::move(name);
      return true;
    }
    return start_field(name);
  }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 1 || (depth_ == 2 && !in_array_)) return true;
    return skipping() || refuse("an object where none is expected");
  }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata_ && !end_tensor()) return false;
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == 3 && (field_ == Field::shape || field_ == Field::offsets)) {
      in_array_ = true;
      return true;
    }
    return skipping() || refuse("an array where none is expected");
  }
  bool end_array() override {
    if (depth_ == 3) in_array_ = false;
    --depth_;
    return true;
  }

  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) override {
    problem = fmt::format("not JSON at byte {}", at);
    return false;
  }

 private:
  enum class Field { none, dtype, shape, offsets, unknown };

  bool skipping() const { return depth_ >= 3 && !in_metadata_ && field_ == Field::unknown; }

  bool refuse(std::string_view what) {
    problem = depth_ >= 2 && !in_metadata_ && !header.entries.empty()
                  ? fmt::format("tensor {}: {}", header.entries.back().name, what)
                  : std::string(what);
    return false;
  }

  /// A value that only an unknown field may have.
  bool scalar(std::string_view what) {
    if (depth_ >= 2 && !in_metadata_ && field_ == Field::unknown) return true;
    if (depth_ == 0) return refuse("not a JSON object");
    if (depth_ == 1) return refuse(fmt::format("{} where an object is expected", what));
    if (in_metadata_) return refuse("__metadata__ holds something other than strings");
    return refuse(fmt::format("{} has {}", field_name(), what));
  }

  const char* field_name() const {
    switch (field_) {
      case Field::dtype:
        return "dtype";
      case Field::shape:
        return "shape";
      case Field::offsets:
        return "data_offsets";
      default:
        return "a field";
    }
  }

  bool start_tensor(std::string name) {
    if (!names_.insert(name).second) {
      return refuse(fmt::format("the name {} is used twice", name));
    }
    in_metadata_ = name == "__metadata__";
    if (!in_metadata_) header.entries.push_back({.name = std::move(name)});
    seen_ = 0;
    offsets_ = 0;
    field_ = Field::none;
    return true;
  }

  bool start_field(const std::string& name) {
    field_ = name == "dtype"          ? Field::dtype
             : name == "shape"        ? Field::shape
             : name == "data_offsets" ? Field::offsets
                                      : Field::unknown;
    if (field_ == Field::unknown) return true;
    const unsigned bit = 1u << static_cast<unsigned>(field_);
    if (seen_ & bit) return refuse(fmt::format("{} is given twice", name));
    seen_ |= bit;
    return true;
  }

  bool end_tensor() {
    for (const Field field : {Field::dtype, Field::shape, Field::offsets}) {
      field_ = field;
      if (!(seen_ & 1u << static_cast<unsigned>(field))) {
        return refuse(fmt::format("{} is missing", field_name()));
      }
    }
    if (offsets_ != 2) return refuse("data_offsets has fewer than 2 numbers");
    return true;
  }

  std::unordered_set<std::string> names_;
  std::string key_;
  int depth_ = 0;
  int offsets_ = 0;
  unsigned seen_ = 0;
  bool in_metadata_ = false, in_array_ = false;
  Field field_ = Field::none;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json) {
  Reader reader;
  const bool good = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  if (!good || !reader.problem.empty()) {
    return fail(ErrorCode::corrupt_file,
                reader.problem.empty() ? std::string("not JSON") : reader.problem);
  }
  return std::move(reader.header);
}

}  // namespace hearth::tensor
