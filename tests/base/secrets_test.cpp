#include "ridgeline/base/secrets.h"

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

TEST(Secrets, NamesAreKnownInAnyCase) {
  for (const char* name :
       {"--hf-token", "--token", "HF_TOKEN", "TF_VAR_db_password", "CUDA_my_secret", "SLURM_MYSQL_PASS",
        "--apiKey", "--api-key", "AWS_SECRET_ACCESS_KEY", "--wandb_api_key", "hfToken", "--auth",
        "AZURE_STORAGE_SAS", "--db-passwd", "--accessToken"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name :
       {"--max-tokens", "--tokenizer", "--tokens", "--pad-token", "eos_token", "--token-count", "--key",
        "--keyboard", "NCCL_ALGO", "--compass", "--author", "OMP_NUM_THREADS", "--passes", ""}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Secrets, OfUrlsTheHostAndThePathStay) {
  EXPECT_EQ(without_secrets("http://me:word@host:8080/path"), "http://***@host:8080/path");
  EXPECT_EQ(without_secrets("https://TOKEN@host"), "https://***@host");
  EXPECT_EQ(without_secrets("https://x.blob.core.windows.net/a/b?sv=1&sig=AbC"),
            "https://x.blob.core.windows.net/a/b?***");
  EXPECT_EQ(without_secrets("a://u:p@h,b://v@i/c d"), "a://***@h,b://***@i/c d");
  EXPECT_EQ(without_secrets("https://host/user@example"), "https://host/user@example");
  EXPECT_EQ(without_secrets("me@host:path"), "me@host:path");
}

TEST(Secrets, TokensOfKnownServicesAreHidden) {
  EXPECT_EQ(without_secrets("hf_abcdefghijklmnopqrst"), "***");
  EXPECT_EQ(without_secrets("x=ghp_0123456789abcdefgh;y"), "x=***;y");
  EXPECT_EQ(without_secrets("hf_short"), "hf_short");
  EXPECT_EQ(without_secrets("Authorization: Bearer abc.def, x"), "Authorization: Bearer ***, x");
  EXPECT_EQ(without_secrets("bearer abc"), "bearer ***");
  EXPECT_EQ(without_secrets("forbearer abc Bearer "), "forbearer abc Bearer ");
  EXPECT_EQ(without_secrets("half_abcdefghijklmnopqrst"), "half_abcdefghijklmnopqrst");
}

std::string masked(const std::vector<std::string>& words, const std::vector<std::string>& redact = {}) {
  std::string line;
  for (const std::string& word : command_without_secrets(words, redact))
    line += (line.empty() ? "" : " ") + word;
  return line;
}

constexpr const char* kHex40 = "0123456789abcdef0123456789abcdef01234567";
constexpr const char* kJwt =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";

// Every form that docs/cli.md lists.
TEST(Secrets, FormsThatProgramsTakeThemIn) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--wandb-key", kHex40}, "--wandb-key ***"},
      {{std::string("--wandb-key=") + kHex40}, "--wandb-key=***"},
      {{"--key", kHex40}, "--key ***"},
      {{"--header", "Authorization: Basic dXNlcjpwYXNz"}, "--header Authorization: Basic ***"},
      {{"-H", "authorization: Token abc"}, "-H authorization: Token ***"},
      {{"-H", "Authorization: my own words"}, "-H Authorization: ***"},
      {{"-H", "X-Api-Key: abc"}, "-H X-Api-Key: ***"},
      {{"-H", "Cookie: a=b; c=d"}, "-H Cookie: ***"},
      {{"--jwt-file", kJwt}, "--jwt-file ***"},
      {{"--session", kJwt}, "--session ***"},
      {{std::string("x ") + kJwt + ", y"}, "x ***, y"},
      {{R"({"api_key": "abc", "steps": 5})"}, R"({"api_key": "***", "steps": 5})"},
      {{R"({"a": {"password":"x\"y"}})"}, R"({"a": {"password":"***"}})"},
      {{R"({\"api_key\": \"abc\", \"b\": 1})"}, R"({\"api_key\": \"***\", \"b\": 1})"},
      {{"{'token': 'abc'}"}, "{'token': '***'}"},
      {{std::string(R"({"wandb": {"key": ")") + kHex40 + R"("}, "sort_key": "time"})"},
       R"({"wandb": {"key": "***"}, "sort_key": "time"})"},
      {{std::string("logger.key: ") + kHex40 + " key: 5"}, "logger.key: *** key: 5"},
      {{"--pw", "abc", "--db-pw=abc"}, "--pw *** --db-pw=***"},
      {{"--dsn", "host=db user=me password=abc dbname=x"}, "--dsn host=db user=me password=*** dbname=x"},
      {{"--dsn", "Server=db;Password='a b';Database=x"}, "--dsn Server=db;Password='***';Database=x"},
      {{"--dsn=host=db password=abc"}, "--dsn=host=db password=***"},
      {{"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==;X=y"},
       "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=***;X=y"},
      {{"curl", "-u", "user:pass"}, "curl -u user:***"},
      {{"curl", "-uuser:pass"}, "curl -uuser:***"},
      {{"--user=user:pass"}, "--user=user:***"},
      {{"mysql", "-phunter2"}, "mysql -p***"},
      {{"--hf-token", "-abc"}, "--hf-token ***"},
      {{"sh", "-c", "train --token abc --lr 1"}, "sh -c train --token *** --lr 1"},
      {{"sh", "-c", "API_KEY=abc train"}, "sh -c API_KEY=***"},
      {{"postgres://me:word@host/x"}, "postgres://***@host/x"},
  };
  for (const auto& [words, kept] : cases) EXPECT_EQ(masked(words), kept);
  for (const char* token :
       {"xapp-1-A0123456789-abcdefgh", "sk_live_0123456789abcdef", "npm_0123456789abcdefghij",
        "dop_v1_0123456789abcdef01", "xoxr-0123456789-abcdefgh", "pypi-AgEIcHlwaS5vcmcCJ",
        "gsk_0123456789abcdefgh", "github_pat_0123456789abcdef"})
    EXPECT_EQ(masked({"--note", token}), "--note ***") << token;
}

TEST(Secrets, OrdinaryArgumentsStay) {
  const std::vector<std::string> cases[] = {
      {"train", "-b", "32", "-p", "8", "--path", "/data/x", "--key", "value"},
      {"-p8", "-p100ms", "-p8080:80", "-pbf16", "-precision16", "-phase12", "-pipeline2", "-p/data/x1",
       "-parallel8"},
      {"--commit", kHex40, "--hash=0123456789abcdef0123456789abcdef"},
      {"docker", "-u", "1000:1000", "-v", "/run/secrets:/usr/lib", "image:tag"},
      {"--user", "me", "--users=4", "-u", "8"},
      {"--ratio", "16:9", "ns::token::kernel<a::b>", "--logs", "+dynamo:debug", "C:\\x"},
      {"--config", R"({"steps": 5, "max_tokens": "10", "pad_token": "x"})"},
      {"--override", "model.layers=12 data.tokenizer=gpt2"},
      {"--prompt", "the -p value is 5, author: me", "--sort-key", "time", "--key", "layers.0.attention"},
      {"python", "-c", "print('x') -u"},
      {"--batch-size", "-1", "--keyboard", "a1b2c3d4e5f6a7b8c9d0e1"},
  };
  for (const std::vector<std::string>& words : cases)
    EXPECT_EQ(command_without_secrets(words), words) << words.front();
}

TEST(Secrets, WhatTheUserNamesIsReplacedToo) {
  EXPECT_EQ(masked({"train", "--customer", "acme", "--run=acme-7", "plain"}, {"acme*"}),
            "train --customer *** --run=*** plain");
  EXPECT_EQ(masked({"train", "--customer", "acme", "CUSTOMER=x", "--customer=y"}, {"customer", "CUSTOMER"}),
            "train --customer *** CUSTOMER=*** --customer=***");
  EXPECT_EQ(masked({"train", "-x"}, {}), "train -x");
  EXPECT_EQ(variable_without_secrets("SITE", "acme", {}), "acme");
  const std::vector<std::string> redact = {"*cme"};
  EXPECT_EQ(variable_without_secrets("SITE", "acme", redact), "***");
}

TEST(Secrets, CommandLinesLoseTheValuesOfSecretOptions) {
  const std::vector<std::string> words = {"train", "--hf-token", "abc",        "--token=abc", "API_KEY=1",
                                          "--lr",  "0.1",        "--password", "--verbose",   "http://a:b@c"};
  const std::vector<std::string> kept = {"train", "--hf-token", "***",        "--token=***", "API_KEY=***",
                                         "--lr",  "0.1",        "--password", "--verbose",   "http://***@c"};
  EXPECT_EQ(command_without_secrets(words), kept);
}

}  // namespace
}  // namespace ridgeline
