// Code hashes: the hash itself, whole and broken cubins, kernels that come in several modules.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "agent_testing.h"
#include "cupti/code_hash.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;
using Functions = std::vector<std::pair<std::string, std::string>>;  // name and code

template <typename T>
void put(std::string& file, std::size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

// An ELF file as the compiler lays out a cubin: header, code, names, section table.
std::string cubin(const Functions& functions) {
  std::string file(64, 0), names(1, 0);
  struct Section {
    std::uint32_t name, type;
    std::uint64_t offset, size;
  };
  std::vector<Section> sections{{0, 0, 0, 0}};
  auto named = [&](const std::string& name) {
    const auto at = static_cast<std::uint32_t>(names.size());
    names += name + '\0';
    return at;
  };
  for (const auto& [name, code] : functions) {
    sections.push_back({named(".nv.info." + name), 0x70000000, file.size(), 0});
    sections.push_back({named(".text." + name), 1, file.size(), code.size()});
    file += code;
  }
  sections.push_back({named(".nv.shared.k"), 8, file.size(), 1u << 20});
  const std::uint32_t own = named(".shstrtab");
  sections.push_back({own, 3, file.size(), names.size()});
  file += names;
  file.resize((file.size() + 7) / 8 * 8);
  const std::size_t table = file.size();
  file.resize(table + 64 * sections.size());
  std::memcpy(file.data(), "\177ELF\2\1\1", 7);
  put<std::uint64_t>(file, 0x28, table);
  put<std::uint16_t>(file, 0x3A, 64);
  put<std::uint16_t>(file, 0x3C, static_cast<std::uint16_t>(sections.size()));
  put<std::uint16_t>(file, 0x3E, static_cast<std::uint16_t>(sections.size() - 1));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    put(file, table + 64 * i, sections[i].name);
    put(file, table + 64 * i + 4, sections[i].type);
    put(file, table + 64 * i + 24, sections[i].offset);
    put(file, table + 64 * i + 32, sections[i].size);
  }
  return file;
}

Functions read_all(const std::string& file) {
  // On the heap at its exact size, so that a sanitizer sees a byte read too many.
  std::unique_ptr<char[]> copy(new char[file.size()]);
  std::memcpy(copy.get(), file.data(), file.size());
  CubinReader reader(copy.get(), file.size());
  Functions found;
  CodeSection section;
  while (reader.next(&section))
    found.emplace_back(section.name, std::string(reinterpret_cast<const char*>(section.bytes), section.size));
  return found;
}

const Functions kFunctions = {{"_Z4copyPf", std::string(160, 'c')},
                              {"_Z3addPfS_", "short"},
                              {"_Z4gemmPK6__halfS1_Pf", std::string(4096, 'g')}};

TEST(CodeHash, IsXxh64) {
  EXPECT_EQ(hash_bytes("", 0), 0xEF46DB3751D8E999ull);
  EXPECT_EQ(hash_bytes("a", 1), 0xD24EC4F1A98C6E5Bull);
  EXPECT_EQ(hash_bytes("abc", 3), 0x44BC2CF5AD770999ull);
  // More than 32 bytes: the wide loop.
  const std::string text = "Nobody inspects the spammish repetition";
  EXPECT_EQ(hash_bytes(text.data(), text.size()), 0xFBCEA83C8A378BF1ull);
}

TEST(CodeHash, FindsTheFunctionsOfACubin) {
  EXPECT_EQ(read_all(cubin(kFunctions)), kFunctions);
}

TEST(CodeHash, RefusesWhatIsNoCubin) {
  EXPECT_TRUE(read_all("").empty());
  EXPECT_TRUE(read_all(std::string(64, 0)).empty());
  EXPECT_TRUE(read_all(std::string(100, 'E')).empty());
  CubinReader nothing(nullptr, 1000);
  EXPECT_FALSE(nothing.valid());
  std::string narrow = cubin(kFunctions);
  narrow[4] = 1;  // 32 bits
  EXPECT_TRUE(read_all(narrow).empty());
}

TEST(CodeHash, SurvivesEveryTruncation) {
  const std::string file = cubin(kFunctions);
  for (std::size_t size = 0; size < file.size(); ++size) {
    // The section table stands last: without all of it there is nothing.
    EXPECT_TRUE(read_all(file.substr(0, size)).empty()) << size;
  }
}

TEST(CodeHash, SurvivesDamage) {
  const std::string file = cubin(kFunctions);
  std::mt19937_64 random(7);
  std::size_t read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string broken = file;
    for (std::uint64_t n = 1 + random() % 8; n > 0; --n) {
      // The header and the tables are what a reader trusts: damage them most.
      const bool tables = random() % 4 != 0;
      const std::size_t from = tables ? file.size() - 64 * 9 : 0;
      const std::size_t at =
          random() % 3 == 0 ? 0x28 + random() % 24 : from + random() % (file.size() - from);
      broken[at] = random() % 2 != 0 ? static_cast<char>(random()) : static_cast<char>(random() % 2 * 0xff);
    }
    if (random() % 4 == 0) broken.resize(random() % broken.size());
    std::size_t bytes = 0;
    for (const auto& [name, code] : read_all(broken)) bytes += code.size();
    EXPECT_LE(bytes, broken.size());
    read += bytes > 0 ? 1 : 0;
  }
  EXPECT_GT(read, 1000u) << "the damage must leave something to read, or nothing is tested";
}

TEST(CodeHash, StopsWhereSectionsOverlap) {
  Functions many;
  for (int i = 0; i < 50; ++i) many.emplace_back(std::string("f") + std::to_string(i), std::string(64, 'x'));
  std::string file = cubin(many);
  std::uint64_t table = 0;
  std::memcpy(&table, file.data() + 0x28, 8);
  for (int i = 1; i <= 100; ++i) {
    put<std::uint64_t>(file, table + 64 * static_cast<std::size_t>(i) + 24, 0);
    put<std::uint64_t>(file, table + 64 * static_cast<std::size_t>(i) + 32, file.size());
  }
  EXPECT_LE(read_all(file).size(), 1u);
}

TEST(CodeHash, KeepsManyFunctions) {
  CodeHashes hashes;
  for (int m = 0; m < 40; ++m) {
    Functions functions;
    for (int i = 0; i < 200; ++i)
      functions.emplace_back(std::string("k") + std::to_string(m) + "_" + std::to_string(i),
                             std::to_string(m * 1000 + i));
    const std::string file = cubin(functions);
    hashes.take_module(1, file.data(), file.size(), [](auto, auto) { FAIL(); });
  }
  EXPECT_EQ(hashes.size(), 8000u);
  EXPECT_EQ(hashes.bind("k7_33", 1), hash_bytes("7033", 4));
  EXPECT_EQ(hashes.bind("k40_0", 2), 0u) << "not loaded yet";
  const std::string late = cubin({{"k40_0", "code"}});
  std::uint32_t told = 0;
  hashes.take_module(2, late.data(), late.size(), [&](std::uint32_t id, std::uint64_t code) {
    told = id;
    EXPECT_EQ(code, hash_bytes("code", 4));
  });
  EXPECT_EQ(told, 2u) << "its launch loaded the module";
}

void load_module(FakeCupti& cupti, const std::string& file, std::uint32_t id = 1) {
  CUpti_ModuleResourceData module{};
  module.moduleId = id;
  module.pCubin = file.data();
  module.cubinSize = file.size();
  CUpti_ResourceData data{};
  data.resourceDescriptor = &module;
  cupti.callback(cupti.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

void unload_module(FakeCupti& cupti, std::uint32_t id) {
  CUpti_ModuleResourceData module{};
  module.moduleId = id;
  CUpti_ResourceData data{};
  data.resourceDescriptor = &module;
  cupti.callback(cupti.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &data);
}

std::uint32_t half_hash(const std::string& code) {
  return static_cast<std::uint32_t>(hash_bytes(code.data(), code.size()));
}

std::vector<spool::KernelFunctionRecord> functions_in(FakeProgram& program) {
  std::vector<spool::KernelFunctionRecord> found;
  std::string error;
  auto reader = spool::Reader::open(program.session().writer().path(), &error);
  EXPECT_TRUE(reader) << error;
  if (reader)
    reader->for_each([&](const spool::RecordView& r) {
      if (const auto* f = r.as<spool::KernelFunctionRecord>()) found.push_back(*f);
    });
  return found;
}

TEST(CodeHash, ReachesTheKernelsOfTheSpool) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  load_module(cupti, cubin({{"_Z1av", "code of a"}, {"_Z1bv", "code of b"}}));
  load_module(cupti, "not a cubin");
  program.push("step");
  program.launch("_Z1av");
  program.launch("unknown");
  // The same name from another module: later launches run its code. The same code again is no news.
  load_module(cupti, cubin({{"_Z1av", "new code of a"}, {"_Z1bv", "new code of b"}}));
  load_module(cupti, cubin({{"_Z1av", "new code of a"}}));
  program.launch("_Z1bv");
  program.pop();
  const auto found = functions_in(program);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].code_hash, hash_bytes("code of a", 9));
  EXPECT_EQ(found[1].code_hash, 0u);
  EXPECT_EQ(found[2].kernel_id, found[0].kernel_id);
  EXPECT_EQ(found[2].code_hash, hash_bytes("new code of a", 13));
  EXPECT_EQ(found[2].name, 0u);
  EXPECT_GT(found[2].header.flags, found[0].header.flags);
  EXPECT_EQ(found[3].code_hash, hash_bytes("new code of b", 13));
}

TEST(CodeHash, ALaunchSaysWhichCodeItRan) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  int functions[3];
  const auto launch = [&](int* function, const char* name = "_Z1av") {
    program.function = reinterpret_cast<CUfunction>(function);
    program.launch(name);
  };
  load_module(cupti, cubin({{"_Z1av", "code one"}, {"_Z1bv", "code of b"}}), 1);
  launch(&functions[0]);  // outside steps: its first code has its record all the same
  load_module(cupti, cubin({{"_Z1av", "code two"}}), 2);
  launch(&functions[1]);
  launch(&functions[0]);
  launch(&functions[2], "unknown");
  launch(nullptr);
  // A module goes, and the driver gives the handle to a function of the next one.
  unload_module(cupti, 1);
  load_module(cupti, cubin({{"_Z1av", "code three"}}), 3);
  launch(&functions[0]);
  launch(&functions[1]);
  // Where modules are loaded lazily: by the launch itself.
  program.while_running = [&] { load_module(cupti, cubin({{"unknown", "late"}}), 4); };
  launch(&functions[2], "unknown");
  program.while_running = nullptr;
  program.launch("graph", 1, CUDA_SUCCESS, false, true);

  std::vector<std::uint32_t> codes;
  for (const spool::LaunchRecord& record : program.contents().launches) codes.push_back(record.code);
  const std::uint32_t one = half_hash("code one"), two = half_hash("code two"),
                      three = half_hash("code three");
  EXPECT_EQ(codes, (std::vector<std::uint32_t>{one, two, one, 0, two, three, two, half_hash("late"), 0}));
  std::vector<std::uint64_t> known;
  for (const auto& f : functions_in(program))
    if (f.kernel_id == 1) known.push_back(f.code_hash);
  EXPECT_EQ(known, (std::vector<std::uint64_t>{hash_bytes("code one", 8), hash_bytes("code two", 8),
                                               hash_bytes("code three", 10)}));
}

}  // namespace
}  // namespace ridgeline::agent
