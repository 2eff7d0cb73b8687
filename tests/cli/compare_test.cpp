// The verb `compare`: sides, formats, exit codes.
#include <nlohmann/json.hpp>

#include "program_testing.h"

namespace ridgeline::testing {
namespace {

class CompareVerb : public Program {
 protected:
  static void SetUpTestSuite() {
    Program::SetUpTestSuite();
    for (int i = 1; i <= 4; ++i) {
      FabricatedCapture a;
      a.codes = true;
      a.run = i;
      a.timeline_steps = 4;
      write_fabricated_capture(file("a" + std::to_string(i) + ".ridge"), a);
      a.run = i + 20;
      write_fabricated_capture(file("same" + std::to_string(i) + ".ridge"), a);
      a.slow_kernel = "layernorm_backward";
      a.slow_factor = 1.3;
      write_fabricated_capture(file("slow" + std::to_string(i) + ".ridge"), a);
      a.slow_kernel.clear();
      a.driver = "590.01";
      write_fabricated_capture(file("driver" + std::to_string(i) + ".ridge"), a);
    }
  }
  static std::vector<std::string> sides(const std::string& a, const std::string& b, int runs,
                                        std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"compare"};
    for (int i = 1; i <= runs; ++i) arguments.push_back(a + std::to_string(i) + ".ridge");
    arguments.emplace_back("--against");
    for (int i = 1; i <= runs; ++i) arguments.push_back(b + std::to_string(i) + ".ridge");
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(CompareVerb, ExitCodesSayWhatWasFound) {
  EXPECT_EQ(run(sides("a", "same", 4)).code, 0);
  const Outcome slow = run(sides("a", "slow", 4));
  EXPECT_EQ(slow.code, 1) << slow.out << slow.err;
  EXPECT_NE(slow.out.find("layernorm_backward"), std::string::npos) << slow.out;
  EXPECT_EQ(run(sides("a", "slow", 4, {"--fail-on", "none"})).code, 0);
  EXPECT_EQ(run({"compare", "a1.ridge", "slow1.ridge"}).code, 3);
  EXPECT_EQ(run(sides("a", "slow", 2)).code, 3);
  EXPECT_EQ(run(sides("a", "driver", 4)).code, 4);
  EXPECT_EQ(run(sides("a", "driver", 4, {"--any-environment"})).code, 0);
}

TEST_F(CompareVerb, WrongArgumentsAreUsage) {
  expect_error({"compare", "a1.ridge"}, 2, "two");
  expect_error({"compare", "a1.ridge", "a2.ridge", "a3.ridge"}, 2, "--against");
  expect_error(sides("a", "slow", 3, {"--format", "xml"}), 2, "junit");
  expect_error(sides("a", "slow", 3, {"--write", "junit"}), 2, "FORMAT=FILE");
  expect_error(sides("a", "slow", 3, {"--fail-on", "rain"}), 2, "rain");
  expect_error(sides("a", "slow", 3, {"--step-threshold", "200%"}), 2, "--step-threshold");
  expect_error(sides("a", "slow", 3, {"--match", "none.toml"}), 2, "none.toml");
  expect_error(sides("a", "slow", 3, {"--confirm", "3"}), 2, "pair");
  expect_error({"compare", "a1.ridge", "text.ridge"}, 3, "text.ridge");
  expect_error({"compare", "a1.ridge", "none.ridge"}, 4, "none.ridge");
}

TEST_F(CompareVerb, WritesEveryFormatAtOnce) {
  const Outcome outcome = run(sides("a", "slow", 3,
                                    {"--format", "json", "--write", "junit=c.xml", "--write", "html=c.html",
                                     "--write", "github=c.gh", "--write", "gitlab-metrics=c.om", "--write",
                                     "bencher=c.bmf", "--write", "markdown=c.md", "--write", "csv=c.csv"}));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["verdict"], "regressed");
  for (const char* name : {"c.xml", "c.html", "c.gh", "c.om", "c.bmf", "c.md", "c.csv"})
    EXPECT_FALSE(read_file(file(name)).empty()) << name;
  // Parsers that are not ours.
  const std::string check =
      "import sys,json,csv,xml.etree.ElementTree as E\n"
      "r=E.parse(sys.argv[1]).getroot(); s=r.find('testsuite')\n"
      "cases=s.findall('testcase')\n"
      "assert r.tag=='testsuites' and int(s.get('tests'))==len(cases)\n"
      "assert int(s.get('failures'))==len(s.findall('testcase/failure'))>=1\n"
      "assert int(s.get('skipped'))==len(s.findall('testcase/skipped'))\n"
      "assert len({(c.get('classname'),c.get('name')) for c in cases})==len(cases)\n"
      "assert all(float(c.get('time'))>=0 for c in cases)\n"
      "b=json.load(open(sys.argv[2]))\n"
      "assert all(isinstance(m['latency']['value'],(int,float)) for m in b.values())\n"
      "rows=list(csv.DictReader(open(sys.argv[3],newline='',encoding='utf-8')))\n"
      "assert any(x['outcome']=='regressed' for x in rows)\n"
      "E.fromstring(open(sys.argv[4],encoding='utf-8').read().split('\\n',1)[1])\n";
  std::ofstream(file("check.py")) << check;
  const std::string command = "cd '" + directory_.string() + "' && python3 check.py c.xml c.bmf c.csv c.html";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(CompareVerb, AProjectFileSetsLimitsAndBudgets) {
  std::ofstream(file("p.toml")) << "[compare]\nkernel_ratio = 0.5\n";
  EXPECT_EQ(run(sides("a", "slow", 4, {"--project", "p.toml"})).code, 0);
  std::ofstream(file("p.toml")) << "[[budget]]\nkernel = '*layernorm_backward*'\nmax_time_us = 10\n";
  const Outcome outcome = run(sides("a", "same", 4, {"--project", "p.toml"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("misses its budget"), std::string::npos) << outcome.out;
  std::ofstream(file("p.toml")) << "nonsense = 1\n";
  expect_error(sides("a", "same", 4, {"--project", "p.toml"}), 2, "nonsense");
}

TEST_F(CompareVerb, AThresholdBelowTheNoiseFloorIsRefused) {
  std::ofstream(file("noise.toml"))
      << "format = 'ridgeline.noise'\nversion = 1\npairs = 10\nstep_ratio = 0.03\n";
  expect_error(sides("a", "same", 4, {"--noise", "noise.toml", "--step-threshold", "1.25%"}), 2,
               "--step-threshold 1.25 % is below the noise floor of 3.00 %");
  EXPECT_EQ(run(sides("a", "same", 4, {"--noise", "noise.toml", "--step-threshold", "5%"})).code, 0);
}

TEST_F(CompareVerb, RulesSayWhichKernelIsWhich) {
  std::ofstream(file("match.toml")) << "[[rule]]\nkernel = '.*adamw.*'\nbecomes = 'nothing'\n";
  EXPECT_EQ(run(sides("a", "same", 4, {"--match", "match.toml"})).code, 0);
  std::ofstream(file("match.toml")) << "[[rule]]\nkernel = '('\nbecomes = 'nothing'\n";
  expect_error(sides("a", "same", 4, {"--match", "match.toml"}), 2, "regular expression");
}

}  // namespace
}  // namespace ridgeline::testing
