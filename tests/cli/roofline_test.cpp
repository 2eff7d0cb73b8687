// What `roofline -o` writes by the file's name, and PNG by a renderer that is there, is not, or fails.
#include <sys/stat.h>

#include <cstdlib>

#include "program_testing.h"

namespace ridgeline::testing {
namespace {

class RooflineFiles : public Program {
 protected:
  // A program called rsvg-convert, in a folder of its own; returns the PATH with it alone before the shell's.
  static std::string renderer(const std::string& folder, const std::string& script) {
    std::filesystem::create_directories(file(folder));
    const std::string path = file(folder) + "/rsvg-convert";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    chmod(path.c_str(), 0755);
    return "PATH=" + file(folder) + ":/usr/bin:/bin";
  }

  static unsigned big_endian(const std::string& bytes, std::size_t at) {
    unsigned value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
    return value;
  }

  static bool has_renderer() { return std::system("command -v rsvg-convert >/dev/null 2>&1") == 0; }
};

TEST_F(RooflineFiles, TheNameSaysWhatIsWritten) {
  const std::pair<const char*, const char*> kinds[] = {{"r.svg", "<svg "},
                                                       {"r.html", "<!DOCTYPE html>"},
                                                       {"r.json", "{"},
                                                       {"r.csv", "kernel,"},
                                                       {"r.md", "`"}};
  for (const auto& [name, begin] : kinds) {
    const Outcome outcome = run({"roofline", "c.ridge", "-o", name});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(read_file(file(name)).substr(0, std::string(begin).size()), begin) << name;
  }
}

TEST_F(RooflineFiles, TheThemeIsOfPictures) {
  EXPECT_EQ(run({"roofline", "c.ridge", "-o", "light.svg"}).code, 0);
  EXPECT_EQ(run({"roofline", "c.ridge", "--theme", "dark", "-o", "dark.svg"}).code, 0);
  EXPECT_NE(read_file(file("light.svg")).find("fill=\"#ffffff\""), std::string::npos);
  EXPECT_NE(read_file(file("dark.svg")).find("fill=\"#14171b\""), std::string::npos);
  EXPECT_EQ(read_file(file("dark.svg")).find("#ffffff"), std::string::npos) << "nothing of the light one";
  expect_error({"roofline", "c.ridge", "--theme", "dark", "-o", "x.html"}, 2, "--theme is of pictures");
  expect_error({"roofline", "c.ridge", "--theme", "blue", "-o", "x.svg"}, 2, "--theme");
}

TEST_F(RooflineFiles, WithoutARendererPngIsRefusedAndSaysWhatToInstall) {
  std::ofstream(file("kept.png")) << "what was there";
  const Outcome outcome = run({"roofline", "c.ridge", "-o", "kept.png"}, -1, {"PATH=/nowhere"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.err,
            "ridgeline roofline: kept.png: PNG is made by rsvg-convert, which is not on the PATH: install "
            "librsvg2-bin "
            "(apt-get install librsvg2-bin), or write .svg\n");
  EXPECT_EQ(read_file(file("kept.png")), "what was there");
}

TEST_F(RooflineFiles, TheRendererIsGivenThePictureAndItsOutputIsTheFile) {
  const std::string path = renderer("good", "printf '\\211PNG\\r\\n\\032\\n'\necho \"$@\"\ncat\n");
  const Outcome outcome = run({"roofline", "c.ridge", "-o", "made.png"}, -1, {path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  ASSERT_EQ(run({"roofline", "c.ridge", "-o", "made.svg"}).code, 0);
  EXPECT_EQ(read_file(file("made.png")),
            "\x89PNG\r\n\x1a\n--format png --zoom 2\n" + read_file(file("made.svg")));
  const Outcome piped = run({"roofline", "c.ridge", "--format", "png"}, -1, {path});
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, read_file(file("made.png"))) << "without a file, standard output that is no terminal";
}

TEST_F(RooflineFiles, ARendererThatFailsIsSaidInItsWords) {
  const std::pair<const char*, const char*> scripts[] = {
      {"echo 'no such font\033[31m' >&2; echo more >&2; exit 1\n", "made no PNG: no such font"},
      {"echo not a picture\n", "made no PNG: write .svg instead"},
      {"kill -9 $$\n", "made no PNG: write .svg instead"}};
  int number = 0;
  for (const auto& [script, word] : scripts) {
    const Outcome outcome = run({"roofline", "c.ridge", "-o", "none.png"}, -1,
                                {renderer("bad" + std::to_string(number++), script)});
    EXPECT_EQ(outcome.code, 4) << script;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    expect_no_control(outcome.err);
    EXPECT_FALSE(std::filesystem::exists(file("none.png")));
  }
}

TEST_F(RooflineFiles, TheRealRendererMakesBothThemesAtTwiceTheSize) {
  if (!has_renderer()) GTEST_SKIP() << "no rsvg-convert (librsvg2-bin) on this machine";
  std::string pictures[2];
  for (const bool dark : {false, true}) {
    const Outcome outcome =
        run({"roofline", "c.ridge", "--theme", dark ? "dark" : "light", "-o", "real.png"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    pictures[dark ? 1 : 0] = read_file(file("real.png"));
    EXPECT_EQ(pictures[dark ? 1 : 0].substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_EQ(big_endian(pictures[dark ? 1 : 0], 16), 2080u) << "twice 1040";
    EXPECT_GT(pictures[dark ? 1 : 0].size(), 20'000u) << "more than an empty area";
  }
  EXPECT_NE(pictures[0], pictures[1]);
}

}  // namespace
}  // namespace ridgeline::testing
