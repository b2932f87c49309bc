// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {
using ::testing::ElementsAre;

TEST(WorkerEnvironment, LeavesOutWhatMayBeASecret) {
  for (const char* name : {"HF_TOKEN",
                           "HUGGING_FACE_HUB_TOKEN",
                           "AWS_SECRET_ACCESS_KEY",
                           "AWS_ACCESS_KEY_ID",
                           "AWS_SESSION_TOKEN",
                           "AZURE_CLIENT_SECRET",
                           "GOOGLE_APPLICATION_CREDENTIALS",
                           "OPENAI_API_KEY",
                           "GITHUB_TOKEN",
                           "PGPASSWORD",
                           "MYSQL_PWD",
                           "WANDB_API_KEY",
                           "db_password",
                           "NPM_AUTH",
                           "SSH_AUTH_SOCK",
                           "GITHUB_PAT",
                           "KUBECONFIG",
                           "TWINE_PASSWORD",
                           "MY_SECRETS",
                           "CI_JOB_JWT",
                           "NPMTOKEN"})
    EXPECT_TRUE(may_be_secret(name, "x")) << name;
}

TEST(WorkerEnvironment, KeepsWhatRuntimesRead) {
  for (const char* name : {"PATH",
                           "HOME",
                           "PWD",
                           "OLDPWD",
                           "TMPDIR",
                           "LANG",
                           "LD_LIBRARY_PATH",
                           "LD_PRELOAD",
                           "OMP_NUM_THREADS",
                           "KMP_AFFINITY",
                           "ORT_DISABLE_TELEMETRY",
                           "XLA_FLAGS",
                           "CUDA_VISIBLE_DEVICES",
                           "TOKENIZERS_PARALLELISM",
                           "XAUTHORITY",
                           "DISPLAY",
                           "ASSAY_NULL_DEVICES",
                           "QNN_SDK",
                           "PYTHONPATH",
                           "KEYBOARD_LAYOUT",
                           "OV_GPU_PATTERN"})
    EXPECT_FALSE(may_be_secret(name, "/some/place:a@b")) << name;
}

TEST(WorkerEnvironment, LeavesOutAddressesWithAUser) {
  EXPECT_TRUE(may_be_secret("https_proxy", "http://me:secret@proxy.example:3128"));
  EXPECT_TRUE(may_be_secret("INDEX", "https://one.example/ https://ghp_123@two.example/x"));
  EXPECT_FALSE(may_be_secret("https_proxy", "http://proxy.example:3128/a@b"));
  EXPECT_FALSE(may_be_secret("NOTE", "me@example"));
}

TEST(WorkerEnvironment, ChangesReplaceAndAddAlsoIfTheyLookLikeSecrets) {
  char path[] = "PATH=/bin";
  char token[] = "HF_TOKEN=x";
  char odd[] = "no variable";
  char* inherited[] = {path, token, odd, nullptr};
  EXPECT_THAT(worker_environment(inherited, {{"PATH", "/usr/bin"}, {"A_KEY", "1"}}),
              ElementsAre("A_KEY=1", "PATH=/usr/bin"));
}

}  // namespace
}  // namespace assay
