#include "ridgeline/store/kernel_identity.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "demangle.h"
#include "ridgeline/base/collective.h"

namespace ridgeline::store {

namespace {

// Of a name that is taken apart: what makes a family stands at its beginning.
constexpr std::size_t kMaxNameBytes = 32 * 1024;
constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_identifier(char c) {
  return is_digit(c) || is_upper(c) || is_lower(c) || c == '_' || c == '$';
}
char to_lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

// A demangled name taken apart: return type and parameters gone.
struct Signature {
  std::string name;       // qualified, without template arguments
  std::string arguments;  // the template arguments, all of them, as written
};

// Position after the bracket that closes the one at `open`; the end if none does.
std::size_t skip_balanced(std::string_view text, std::size_t open, char opening, char closing) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opening) ++depth;
    // "->" in a decltype is no closing bracket.
    if (text[i] == closing && !(closing == '>' && i > 0 && text[i - 1] == '-') && --depth == 0) return i + 1;
  }
  return text.size();
}

Signature take_apart(std::string_view text) {
  Signature signature;
  std::string& name = signature.name;
  const std::size_t last = text.find_last_not_of(' ');
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
      if (text.substr(i).starts_with("::")) i += 2;
    } else if (c == '{') {
      const std::size_t end = skip_balanced(text, i, '{', '}');
      name += text.substr(i).starts_with("{lambda") ? "{lambda}" : "{unnamed}";
      i = end;
    } else if (name.ends_with("operator") && (c == '(' || c == '<' || c == '>')) {
      name += c;
      ++i;
      if (c == '(' && i < text.size() && text[i] == ')') {
        name += ')';
        ++i;
      }
    } else if (c == '<') {
      const std::size_t end = skip_balanced(text, i, '<', '>');
      signature.arguments += text.substr(i, end - i);
      i = end;
    } else if (c == '(') {
      const std::size_t end = skip_balanced(text, i, '(', ')');
      // A function's local entity follows its parameters: f(int)::{lambda()#1}.
      constexpr std::string_view kConst = " const";
      const std::size_t next = text.substr(end).starts_with(kConst) ? end + kConst.size() : end;
      if (!text.substr(next).starts_with("::")) break;
      i = next;
    } else if (c == ' ') {
      if (i < last) name.clear();  // what stood before was the return type
      ++i;
    } else if (c == '[') {
      break;  // [clone .part]
    } else {
      name += c;
      ++i;
    }
  }
  if (name.empty()) name = std::string(text);
  return signature;
}

// --- families ---------------------------------------------------------------------------------------------

std::vector<std::string_view> tokens_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

// 128, 128x256, 1x1x1, 5x
bool is_dimensions(std::string_view text) {
  return !text.empty() && is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == 'x'; });
}

// A token of a library kernel's name that says how, not what: tile, stages, cluster, alignment, schedule.
bool is_tuning_token(std::string_view token, bool nvjet) {
  if (token.empty() || is_dimensions(token)) return true;
  static constexpr std::array<std::string_view, 13> kSized = {
      "tilesize", "warpgroupsize", "clustersize", "stages", "stage",  "align", "ldg",
      "cga",      "knob",          "kernel",      "sliced", "splitK", "warps"};
  for (const std::string_view prefix : kSized) {
    if (!token.starts_with(prefix)) continue;
    const std::string_view rest = token.substr(prefix.size());
    if (rest.empty() || is_dimensions(rest)) return true;
  }
  if (token.size() > 3 && token.ends_with("cta") && is_dimensions(token.substr(0, token.size() - 3)))
    return true;
  static constexpr std::array<std::string_view, 10> kExact = {"execute", "segment", "k",     "off", "f2f",
                                                              "bz",      "coopA",   "coopB", "rf",  "cublas"};
  if (std::find(kExact.begin(), kExact.end(), token) != kExact.end()) return true;
  return nvjet && (token == "h" || token == "v");  // order in which the tiles are visited
}

bool is_library_name(std::string_view base) {
  static constexpr std::array<std::string_view, 12> kPrefixes = {
      "nvjet_",  "cutlass_", "ampere_", "turing_",    "volta_",       "maxwell_",
      "hopper_", "xmma_",    "cudnn_",  "blackwell_", "fmha_cutlass", "implicit_"};
  for (const std::string_view prefix : kPrefixes) {
    if (base.starts_with(prefix)) return true;
  }
  return base.size() > 4 && base.starts_with("sm") && is_digit(base[2]) && is_digit(base[3]);
}

std::string without_tokens(std::string_view base, bool (*drop)(std::string_view)) {
  std::string family;
  for (const std::string_view token : tokens_of(base, '_')) {
    if (drop(token)) continue;
    if (!family.empty()) family += '_';
    family += token;
  }
  return family.empty() ? std::string(base) : family;
}

// Counters that generators and authors append: triton_poi_fused_add_12, adamw_kernel3.
std::string_view without_trailing_number(std::string_view base) {
  while (true) {
    std::size_t end = base.size();
    while (end > 0 && is_digit(base[end - 1])) --end;
    if (end == base.size() || end == 0) return base;
    const std::string_view stem = base.substr(0, end);
    if (stem.ends_with("kernel") || stem.ends_with("Kernel")) return stem;
    if (!stem.ends_with('_') || stem.size() == 1) return base;
    base = stem.substr(0, stem.size() - 1);
  }
}

std::string family_of_base(std::string_view base) {
  if (base.starts_with("nvjet_")) {
    return without_tokens(base, [](std::string_view token) { return is_tuning_token(token, true); });
  }
  if (is_library_name(base)) {
    return without_tokens(base, [](std::string_view token) { return is_tuning_token(token, false); });
  }
  if (base.starts_with("nccl")) {
    return without_tokens(base, [](std::string_view token) {
      static constexpr std::array<std::string_view, 9> kTransport = {
          "RING", "TREE", "NVLS", "COLLNET", "PAT", "LL", "LL128", "SIMPLE", ""};
      return std::find(kTransport.begin(), kTransport.end(), token) != kTransport.end();
    });
  }
  return std::string(without_trailing_number(base));
}

// "_INTERNAL_1f2e_4_x_cu_99::f" and "_GLOBAL__N__…::f": hashes that change with the file's name.
bool is_hash_scope(std::string_view scope) {
  return scope.starts_with("_INTERNAL_") || scope.starts_with("_GLOBAL__") || scope.starts_with("_NV_ANON_");
}

}  // namespace

std::string_view functor_in(std::string_view arguments) {
  std::size_t i = 0;
  while (i < arguments.size()) {
    if (!is_identifier(arguments[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < arguments.size() && is_identifier(arguments[end])) ++end;
    const std::string_view word = arguments.substr(i, end - i);
    i = end;
    const bool functor = word.find("unctor") != std::string_view::npos || word.ends_with("_kernel_cuda") ||
                         word.ends_with("_cuda_kernel") || word.ends_with("KernelImpl") ||
                         (word.ends_with("Ops") && word.size() > 3);
    // Adaptors that only bind an operand or carry lists name nothing themselves.
    static constexpr std::array<std::string_view, 4> kAdaptors = {"BinaryFunctor", "BUnaryFunctor",
                                                                  "AUnaryFunctor", "UnaryFunctor"};
    if (functor && std::find(kAdaptors.begin(), kAdaptors.end(), word) == kAdaptors.end()) return word;
  }
  return {};
}

namespace {

std::string family(const Signature& signature, int depth) {
  std::string scopes;
  std::string_view rest = signature.name;
  while (true) {
    const std::size_t end = rest.find("::");
    if (end == std::string_view::npos) break;
    const std::string_view scope = rest.substr(0, end);
    if (!is_hash_scope(scope)) {
      scopes += scope;
      scopes += "::";
    }
    rest = rest.substr(end + 2);
  }
  // Library kernels have no scope: a hopper_… or xmma_… in one is somebody's function.
  const std::string base = scopes.empty() ? family_of_base(rest) : std::string(without_trailing_number(rest));

  if (scopes.starts_with("at::native::")) {
    const std::string functor(functor_in(signature.arguments));
    return functor.empty() ? scopes + base : scopes + base + "<" + functor + ">";
  }
  // CUTLASS launches everything through a wrapper; what runs is its first argument.
  if (scopes == "cutlass::" && signature.arguments.size() > 2 && depth < 3) {
    const std::string_view first =
        std::string_view(signature.arguments).substr(1, signature.arguments.size() - 2);
    int nesting = 0;
    std::size_t end = 0;
    while (end < first.size() && !(nesting == 0 && first[end] == ',')) {
      if (first[end] == '<' || first[end] == '(') ++nesting;
      if (first[end] == '>' || first[end] == ')') --nesting;
      ++end;
    }
    const std::string inner = family(take_apart(first.substr(0, end)), depth + 1);
    if (inner.starts_with("cutlass_")) return inner;
    if (!inner.empty()) return scopes + base + "<" + inner + ">";
  }
  return scopes + base;
}

// --- classes ----------------------------------------------------------------------------------------------

// The words of a name, lower case: cut at punctuation, digits and where a capital begins a word.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!is_upper(c) && !is_lower(c)) {
      finish();
      continue;
    }
    if (is_upper(c) && i > 0) {
      const bool after_lower = is_lower(text[i - 1]);
      const bool ends_acronym = is_upper(text[i - 1]) && i + 1 < text.size() && is_lower(text[i + 1]);
      if (after_lower || ends_acronym) finish();
    }
    word += to_lower(c);
  }
  finish();
  return words;
}

// A rule holds if its words follow one another in the name. First rule wins.
struct ClassRule {
  std::string_view words;  // separated by one space
  KernelClass kernel_class;
};

// Asked of the name first, then of name and template arguments (functors say what a generic kernel does).
constexpr ClassRule kSpecificRules[] = {
    {"nvjet", KernelClass::gemm},
    {"splitk", KernelClass::gemm},
    {"split kreduce", KernelClass::gemm},

    {"sdpa", KernelClass::attention},
    {"fmha", KernelClass::attention},
    {"mha", KernelClass::attention},
    {"attention", KernelClass::attention},
    {"attn", KernelClass::attention},
    {"flash", KernelClass::attention},
    {"query gradient", KernelClass::attention},
    {"key gradient", KernelClass::attention},

    {"adam", KernelClass::optimiser},
    {"adamw", KernelClass::optimiser},
    {"sgd", KernelClass::optimiser},
    {"lamb", KernelClass::optimiser},
    {"adagrad", KernelClass::optimiser},
    {"muon", KernelClass::optimiser},
    {"optimizer", KernelClass::optimiser},
    {"optimiser", KernelClass::optimiser},

    {"classifier", KernelClass::classifier},
    {"cross entropy", KernelClass::classifier},
    {"crossentropy", KernelClass::classifier},
    {"nll loss", KernelClass::classifier},
    {"log softmax", KernelClass::classifier},
    {"softmax", KernelClass::classifier},
    {"soft max", KernelClass::classifier},

    // Norms that are sums of squares, before the norms that normalise.
    {"global norm", KernelClass::reduction},
    {"squared sum", KernelClass::reduction},
    {"norm from partials", KernelClass::reduction},
    {"lp norm", KernelClass::reduction},
    {"grad norm", KernelClass::reduction},
    {"norm two ops", KernelClass::reduction},
    {"backward bias", KernelClass::reduction},
    {"bias gradient", KernelClass::reduction},
    {"bias backward", KernelClass::reduction},
    {"loss sum", KernelClass::reduction},
    {"add partials", KernelClass::reduction},

    {"layernorm", KernelClass::normalisation},
    {"layer norm", KernelClass::normalisation},
    {"rmsnorm", KernelClass::normalisation},
    {"rms norm", KernelClass::normalisation},
    {"batchnorm", KernelClass::normalisation},
    {"batch norm", KernelClass::normalisation},
    {"groupnorm", KernelClass::normalisation},
    {"group norm", KernelClass::normalisation},
    {"gamma beta backward", KernelClass::normalisation},
    {"bn fw", KernelClass::normalisation},  // cuDNN
    {"bn bw", KernelClass::normalisation},
    {"fused residual forward", KernelClass::normalisation},  // llm.c: residual addition with layernorm

    {"gemm", KernelClass::gemm},
    {"sgemm", KernelClass::gemm},
    {"dgemm", KernelClass::gemm},
    {"hgemm", KernelClass::gemm},
    {"igemm", KernelClass::gemm},
    {"cgemm", KernelClass::gemm},
    {"xmma", KernelClass::gemm},
    {"gemv", KernelClass::gemm},
    {"gemmk", KernelClass::gemm},
    {"gemv t", KernelClass::gemm},
    {"gemm sn", KernelClass::gemm},
    {"matmul", KernelClass::gemm},
    {"wgmma", KernelClass::gemm},
    {"dgrad engine",
     KernelClass::gemm},  // cuDNN's convolutions: the same sums of products, by the same pipes
    {"wgrad alg", KernelClass::gemm},
    {"triton mm", KernelClass::gemm},
    {"triton tem", KernelClass::gemm},

    {"embedding", KernelClass::embedding},
    {"encoder", KernelClass::embedding},
    {"wte", KernelClass::embedding},
    {"wpe", KernelClass::embedding},
    {"position gradient", KernelClass::embedding},

    {"triton poi", KernelClass::elementwise},
    {"triton red", KernelClass::reduction},
    {"triton per", KernelClass::reduction},

    {"memcpy", KernelClass::copy},
    {"memset", KernelClass::copy},
    {"fill", KernelClass::copy},
    {"direct copy", KernelClass::copy},
    {"batched copy", KernelClass::copy},
    {"transpose", KernelClass::copy},
};

// Asked last, of the name alone and then with its template arguments.
constexpr ClassRule kGenericRules[] = {
    {"reduce", KernelClass::reduction},
    {"reduction", KernelClass::reduction},
    {"sum", KernelClass::reduction},
    {"norm", KernelClass::reduction},
    {"scan", KernelClass::reduction},
    {"dot", KernelClass::reduction},
    {"argmax", KernelClass::reduction},
    {"topk", KernelClass::reduction},
    {"histogram", KernelClass::reduction},
    {"copy", KernelClass::copy},
    {"cast", KernelClass::copy},
    {"convert", KernelClass::copy},
    {"permute", KernelClass::copy},
    {"concat", KernelClass::copy},
    {"cat", KernelClass::copy},
    {"init from master", KernelClass::copy},
    {"gelu", KernelClass::elementwise},
    {"relu", KernelClass::elementwise},
    {"silu", KernelClass::elementwise},
    {"swiglu", KernelClass::elementwise},
    {"dropout", KernelClass::elementwise},
    {"residual", KernelClass::elementwise},
    {"rope", KernelClass::elementwise},
    {"rotary", KernelClass::elementwise},
    {"elementwise", KernelClass::elementwise},
    {"pointwise", KernelClass::elementwise},
    {"activation", KernelClass::elementwise},
    {"bias", KernelClass::elementwise},
    {"add", KernelClass::elementwise},
    {"mul", KernelClass::elementwise},
    {"scale", KernelClass::elementwise},
    {"axpy", KernelClass::elementwise},
    {"triad", KernelClass::elementwise},
    {"multi tensor apply", KernelClass::elementwise},
    {"distribution", KernelClass::elementwise},
};

bool begins_with(std::span<const std::string> words, std::string_view rule) {
  for (const std::string& word : words) {
    const std::size_t end = rule.find(' ');
    if (word != rule.substr(0, end)) return false;
    if (end == std::string_view::npos) return true;
    rule.remove_prefix(end + 1);
  }
  return false;
}

bool holds(std::string_view rule, std::span<const std::string> words) {
  for (; !words.empty(); words = words.subspan(1))
    if (begins_with(words, rule)) return true;
  return false;
}

template <std::size_t N>
std::optional<KernelClass> first_match(const ClassRule (&rules)[N], const std::vector<std::string>& words) {
  for (const ClassRule& rule : rules) {
    if (holds(rule.words, words)) return rule.kernel_class;
  }
  return std::nullopt;
}

// What communicates says so first of all.
std::optional<KernelClass> specific_class(const std::vector<std::string>& words) {
  for (const CollectiveMark& mark : kCollectiveMarks) {
    if (holds(mark.words, words)) return KernelClass::communication;
  }
  return first_match(kSpecificRules, words);
}

KernelClass classify(const Signature& signature) {
  const std::vector<std::string> name = words_of(signature.name);
  const std::vector<std::string> all = words_of(signature.name + " " + signature.arguments);
  std::optional<KernelClass> found = specific_class(name);
  if (!found) found = specific_class(all);
  if (!found) found = first_match(kGenericRules, name);
  if (!found) found = first_match(kGenericRules, all);
  return found.value_or(KernelClass::other);
}

}  // namespace

KernelIdentity identify_kernel(std::string_view mangled_name) {
  KernelIdentity identity;
  identity.demangled_name = demangled(mangled_name);
  const std::string_view bounded = std::string_view(identity.demangled_name).substr(0, kMaxNameBytes);
  const Signature signature = take_apart(bounded);
  identity.normalised_name = family(signature, 0);
  identity.kernel_class = classify(signature);
  return identity;
}

}  // namespace ridgeline::store
