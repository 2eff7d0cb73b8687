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

TEST(Secrets, CommandLinesLoseTheValuesOfSecretOptions) {
  const std::vector<std::string> words = {"train", "--hf-token", "abc",        "--token=abc", "API_KEY=1",
                                          "--lr",  "0.1",        "--password", "--verbose",   "http://a:b@c"};
  const std::vector<std::string> kept = {"train", "--hf-token", "***",        "--token=***", "API_KEY=***",
                                         "--lr",  "0.1",        "--password", "--verbose",   "http://***@c"};
  EXPECT_EQ(command_without_secrets(words), kept);
}

}  // namespace
}  // namespace ridgeline
