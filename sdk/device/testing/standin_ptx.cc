#include "sdk/device/testing/standin_ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace glim::device::standin {
namespace {

std::string Trimmed(const std::string& text) {
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  const auto begin = std::find_if_not(text.begin(), text.end(), blank);
  const auto end = std::find_if_not(text.rbegin(), text.rend(), blank).base();
  return begin < end ? std::string(begin, end) : "";
}

std::string WithoutComments(const std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);) rest += line.substr(0, line.find("//")) + "\n";
  return rest;
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(Trimmed(part));
  return parts;
}

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(WithoutComments(text)) {}

  std::map<std::string, PtxKernel> Read(std::string* wrong) {
    for (std::size_t at = text_.find(".entry"); at != std::string::npos; at = text_.find(".entry", at)) {
      const std::size_t open = text_.find('(', at), close = text_.find(')', open), body = text_.find('{', close);
      ReadKernel(Trimmed(text_.substr(at + 6, open - at - 6)), text_.substr(open + 1, close - open - 1), body + 1);
      at = body;
    }
    *wrong = wrong_;
    return wrong_.empty() ? kernels_ : std::map<std::string, PtxKernel>();
  }

 private:
  void ReadKernel(const std::string& name, const std::string& parameters, std::size_t at) {
    kernel_ = {};
    slots_ = {{"%tid.x", kThreadX},
              {"%ntid.x", kThreadsX},
              {"%ctaid.x", kBlockX},
              {"%ctaid.y", kBlockY},
              {"%nctaid.x", kBlocksX}};
    symbols_.clear();
    labels_.clear();
    branches_.clear();
    for (const std::string& parameter : Split(parameters, ',')) {
      std::istringstream words(parameter);
      std::string param, type, word;
      words >> param >> type >> word;
      symbols_[word] = kernel_.parameter_bytes.size();
      kernel_.parameter_bytes.push_back(WidthOf(type.substr(1)));
    }
    std::string statement;
    int braces = 0;
    for (; at < text_.size() && (braces > 0 || text_[at] != '}'); ++at) {
      const char c = text_[at];
      braces += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (c == ':') labels_[Trimmed(statement)] = static_cast<std::uint32_t>(kernel_.code.size());
      if (c == ';') ReadStatement(Trimmed(statement));
      if (c == ':' || c == ';') {
        statement.clear();
      } else {
        statement += c;
      }
    }
    for (const auto& [instruction, label] : branches_) {
      if (!labels_.contains(label)) Wrong("bra " + label);
      kernel_.code[instruction].target = labels_[label];
    }
    kernel_.registers = slots_.size();
    kernels_[name] = kernel_;
  }

  void ReadStatement(const std::string& statement) {
    if (statement.starts_with(".reg")) return;
    if (statement.starts_with(".shared")) {  // .shared .align 16 .b8 NAME[BYTES]
      const std::size_t open = statement.find('['), name = statement.rfind(' ', open) + 1;
      symbols_[statement.substr(name, open - name)] = kernel_.shared_bytes;
      kernel_.shared_bytes += std::strtoul(statement.c_str() + open + 1, nullptr, 10);
      return;
    }
    PtxInstruction instruction;
    std::string rest = statement;
    if (rest[0] == '@') {
      const std::size_t end = rest.find(' ');
      instruction.guarded = true;
      instruction.guard_is_false = rest[1] == '!';
      instruction.guard = SlotOf(rest.substr(instruction.guard_is_false ? 2 : 1, end - (rest[1] == '!' ? 2 : 1)));
      rest = Trimmed(rest.substr(end));
    }
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::vector<std::string> words = Split(rest.substr(0, end), '.');
    if (!ReadOp(words, &instruction)) return Wrong(statement);
    ReadOperands(Trimmed(rest.substr(end)), &instruction);
    kernel_.code.push_back(instruction);
  }

  bool ReadOp(const std::vector<std::string>& words, PtxInstruction* to) {
    static const std::map<std::string, PtxOp> kOps = {{"ld", PtxOp::kLoad},
                                                      {"st", PtxOp::kStore},
                                                      {"red.add", PtxOp::kReduceAdd},
                                                      {"red.min", PtxOp::kReduceMin},
                                                      {"red.or", PtxOp::kReduceOr},
                                                      {"mov", PtxOp::kMove},
                                                      {"cvta.to", PtxOp::kMove},
                                                      {"cvt", PtxOp::kConvert},
                                                      {"add", PtxOp::kAdd},
                                                      {"mul.lo", PtxOp::kMultiplyLow},
                                                      {"mul.wide", PtxOp::kMultiplyWide},
                                                      {"shl", PtxOp::kShiftLeft},
                                                      {"shr", PtxOp::kShiftRight},
                                                      {"and", PtxOp::kAnd},
                                                      {"xor", PtxOp::kXor},
                                                      {"fma.rn", PtxOp::kFma},
                                                      {"setp.eq", PtxOp::kEqual},
                                                      {"setp.ne", PtxOp::kNotEqual},
                                                      {"setp.lt", PtxOp::kLess},
                                                      {"setp.ge", PtxOp::kAtLeast},
                                                      {"bra", PtxOp::kBranch},
                                                      {"bar.sync", PtxOp::kBarrier},
                                                      {"mma.sync", PtxOp::kMatrix},
                                                      {"ret", PtxOp::kReturn}};
    std::string key = words[0];
    const bool red = key == "red";
    if (red && words.size() > 2) key += "." + words[2];
    if (!red && words.size() > 1 && kOps.contains(key + "." + words[1])) key += "." + words[1];
    const auto op = kOps.find(key);
    if (op == kOps.end()) return false;
    to->op = op->second;
    for (const std::string& word : words) {
      if (word == "param") to->space = PtxSpace::kParameter;
      if (word == "shared") to->space = PtxSpace::kShared;
      if (word == "global" && to->op != PtxOp::kMove) to->space = PtxSpace::kGlobal;
    }
    to->bytes = static_cast<std::uint8_t>(WidthOf(to->op == PtxOp::kConvert ? words[1] : words.back()));
    // Only what Execute does: floats in nothing but moves, loads, stores and fused multiply-adds.
    const bool is_float = words.back() == "f32";
    const bool takes_float = to->op == PtxOp::kLoad || to->op == PtxOp::kStore || to->op == PtxOp::kMove ||
                             to->op == PtxOp::kFma || to->op == PtxOp::kMatrix;
    return !is_float || takes_float;
  }

  void ReadOperands(const std::string& text, PtxInstruction* instruction) {
    const bool writes = instruction->op != PtxOp::kStore && instruction->op != PtxOp::kBranch &&
                        instruction->op != PtxOp::kBarrier && instruction->op != PtxOp::kReturn &&
                        instruction->op != PtxOp::kReduceAdd && instruction->op != PtxOp::kReduceMin &&
                        instruction->op != PtxOp::kReduceOr;
    if (instruction->op == PtxOp::kBranch) {
      branches_.emplace_back(kernel_.code.size(), text);
      return;
    }
    bool in_braces = false, first = true;
    for (std::string word : Split(text, ',')) {
      if (word[0] == '{') in_braces = true;
      const bool closes = word.back() == '}';
      word = Trimmed(word.substr(word[0] == '{' ? 1 : 0, word.size() - (word[0] == '{') - (closes ? 1 : 0)));
      if (word[0] == '[') {
        ReadAddress(word.substr(1, word.size() - 2), instruction);
      } else {
        (writes && first ? instruction->to : instruction->from).push_back(OperandOf(word));
      }
      if (closes) in_braces = false;
      if (!in_braces) first = false;
    }
  }

  void ReadAddress(const std::string& text, PtxInstruction* instruction) {
    const std::size_t plus = text.find('+');
    instruction->address = OperandOf(Trimmed(text.substr(0, plus)));
    if (plus != std::string::npos) instruction->address.value += std::strtoull(text.c_str() + plus + 1, nullptr, 0);
  }

  PtxOperand OperandOf(const std::string& word) {
    if (word[0] == '%') return {.is_register = true, .slot = SlotOf(word), .value = 0};
    if (const auto symbol = symbols_.find(word); symbol != symbols_.end()) return {.value = symbol->second};
    if (word.starts_with("0f")) return {.value = std::strtoull(word.c_str() + 2, nullptr, 16)};
    if (std::isdigit(static_cast<unsigned char>(word[0])) == 0) Wrong(word);
    return {.value = std::strtoull(word.c_str(), nullptr, 0)};
  }

  std::uint32_t SlotOf(const std::string& name) {
    return slots_.emplace(name, static_cast<std::uint32_t>(slots_.size())).first->second;
  }
  static std::size_t WidthOf(const std::string& type) { return type.ends_with("64") ? 8 : 4; }
  void Wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  const std::string text_;
  std::string wrong_;
  std::map<std::string, PtxKernel> kernels_;
  PtxKernel kernel_;
  std::map<std::string, std::uint32_t> slots_;
  std::map<std::string, std::size_t> symbols_;  // parameters by their number, shared memory by its place
  std::map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
};

}  // namespace

std::map<std::string, PtxKernel> ReadPtx(const std::string& text, std::string* wrong) {
  return Reader(text).Read(wrong);
}

}  // namespace glim::device::standin
