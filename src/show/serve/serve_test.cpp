// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/base/files.hpp"
#include "show/serve/routes.hpp"
#include "show/serve/server.hpp"
#include "show/serve/watch.hpp"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Site site() {
  Site site;
  site.port = 8000;
  site.page = "<!doctype html><title>assay</title>";
  site.document = std::make_shared<const Document>(Document{"bytes", "\"tag\""});
  site.version = {{"tool", "1"}};
  site.cell = [](std::int64_t id) -> Result<Json> {
    if (id == 4) return Json{{"result_id", 4}};
    return fail(ErrorCode::kNotFound, "there is no cell with the id " + std::to_string(id));
  };
  return site;
}

Request get(std::string target) {
  Request request;
  request.method = "GET";
  request.target = std::move(target);
  request.host = "127.0.0.1:8000";
  return request;
}

std::string header_of(const Response& response, std::string_view name) {
  const auto found = std::ranges::find(response.headers, name, [](const auto& header) { return header.first; });
  return found == response.headers.end() ? "" : found->second;
}

TEST(Routes, AnswersItsFivePlacesAndNoOther) {
  EXPECT_EQ(answer(get("/"), site()).body, "<!doctype html><title>assay</title>");
  EXPECT_EQ(answer(get("/?theme=dark"), site()).status, 200);
  EXPECT_EQ(answer(get("/data"), site()).body, "bytes");
  EXPECT_EQ(answer(get("/api/cell/4"), site()).body, "{\"result_id\":4}\n");
  EXPECT_EQ(answer(get("/api/version"), site()).body, "{\"tool\":\"1\"}\n");
  EXPECT_TRUE(answer(get("/events"), site()).events);
  for (const char* target :
       {"/index.html", "/data/", "//", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd",
        "/api/cell/", "/api/cell/4/..", "/api/cell/-1", "/api/cell/4x", "/api/cell/5", "/api/cell/99999999999999999999",
        "/api/../data", "", "http://evil.example/", "/data\\", "/benchmark_db.duckdb"})
    EXPECT_EQ(answer(get(target), site()).status, 404) << target;
  EXPECT_EQ(answer(get(std::string("/data\0", 6)), site()).status, 404);
  EXPECT_EQ(answer(get("/" + std::string(10'000, 'a')), site()).status, 414);
}

TEST(Routes, OnlyReads) {
  for (const char* method : {"POST", "PUT", "DELETE", "TRACE", "CONNECT", "OPTIONS", "PATCH", "get", ""}) {
    Request request = get("/");
    request.method = method;
    const Response response = answer(request, site());
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(header_of(response, "Allow"), "GET, HEAD");
  }
  Request head = get("/data");
  head.method = "HEAD";
  EXPECT_EQ(answer(head, site()).status, 200);
  EXPECT_EQ(answer(head, site()).body, "");
  Request body = get("/data");
  body.has_body = true;
  EXPECT_EQ(answer(body, site()).status, 413);
  Request range = get("/data");
  range.has_range = true;
  EXPECT_EQ(answer(range, site()).status, 416);
}

TEST(Routes, OnlyThisMachinesNamesAreItsHost) {
  for (const char* host : {"localhost:8000", "LOCALHOST:8000", "[::1]:8000", "127.0.0.1:8000"}) {
    Request request = get("/data");
    request.host = host;
    EXPECT_EQ(answer(request, site()).status, 200) << host;
    request.origin = "http://" + std::string(host);
    EXPECT_EQ(answer(request, site()).status, 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001",
                           "127.0.0.1:8000.evil.example", "localhost", ""}) {
    Request request = get("/data");
    request.host = host;
    EXPECT_EQ(answer(request, site()).status, 421) << host;
  }
  Request without = get("/data");
  without.host.reset();
  EXPECT_EQ(answer(without, site()).status, 421);
  for (const char* origin : {"http://evil.example", "https://127.0.0.1:8000", "null", "http://127.0.0.1:8001"}) {
    Request request = get("/data");
    request.origin = origin;
    EXPECT_EQ(answer(request, site()).status, 421) << origin;
  }
}

TEST(Routes, AnUnchangedDocumentIsNotSentAgain) {
  Request request = get("/data");
  request.if_none_match = "\"tag\"";
  EXPECT_EQ(answer(request, site()).status, 304);
  EXPECT_EQ(answer(request, site()).body, "");
  request.if_none_match = "\"older\"";
  EXPECT_EQ(answer(request, site()).status, 200);
  EXPECT_EQ(header_of(answer(request, site()), "ETag"), "\"tag\"");
}

TEST(Routes, WithoutADatabaseItSaysWhatIsMissing) {
  Site empty = site();
  empty.document = nullptr;
  empty.missing = "there is no database 'x.duckdb'";
  const Response response = answer(get("/data"), empty);
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("there is no database"));
  EXPECT_EQ(answer(get("/"), empty).status, 200);
}

TEST(Routes, EveryAnswerForbidsWhatAPageCannotForbid) {
  for (const char* target : {"/", "/data", "/none", "/events"}) {
    const Response response = answer(get(target), site());
    EXPECT_EQ(header_of(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(header_of(response, "Content-Security-Policy"), HasSubstr("frame-ancestors 'none'"));
    EXPECT_EQ(header_of(response, "Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(header_of(response, "Access-Control-Allow-Origin"), "");
  }
}

TEST(Routes, EventsHaveALineForEachLine) {
  EXPECT_EQ(event_text("progress", "a\nb"), "event: progress\ndata: a\ndata: b\n\n");
}

class WatchFiles : public ::testing::Test {
 protected:
  WatchFiles() {
    options_.database = folder_->path() / "db.duckdb";
    content_.document = [this]() -> Result<std::string> {
      ++made_;
      if (fail_) return fail(ErrorCode::kNotFound, "there is no database");
      return document_;
    };
  }
  void write(const char* name, const std::string& content) {
    EXPECT_TRUE(write_file_atomically(folder_->path() / name, content));
  }
  Result<TemporaryDirectory> folder_ = TemporaryDirectory::create();
  ServeOptions options_;
  Content content_;
  std::string document_ = "one";
  bool fail_ = false;
  int made_ = 0;
};

TEST_F(WatchFiles, TheDocumentIsMadeAgainOnlyWhenTheSnapshotChanges) {
  Watch watch(options_, content_);
  write("db.snapshot.duckdb", "a");
  watch.look();
  const Watch::Seen first = watch.seen();
  ASSERT_NE(first.document, nullptr);
  watch.look();
  watch.look();
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(watch.seen().generation, first.generation);
  document_ = "two";
  write("db.snapshot.duckdb", "b");
  watch.look();
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(watch.seen().document->bytes, "two");
  EXPECT_NE(watch.seen().document->etag, first.document->etag);
  EXPECT_GT(watch.seen().generation, first.generation);
  EXPECT_EQ(first.document->bytes, "one");
}

TEST_F(WatchFiles, ADatabaseThatCannotBeReadDoesNotTakeAwayWhatWasRead) {
  Watch watch(options_, content_);
  fail_ = true;
  watch.look();
  EXPECT_EQ(watch.seen().document, nullptr);
  EXPECT_THAT(watch.seen().missing, HasSubstr("there is no database"));
  fail_ = false;
  write("db.snapshot.duckdb", "a");
  watch.look();
  EXPECT_EQ(watch.seen().document->bytes, "one");
  EXPECT_EQ(watch.seen().missing, "");
  fail_ = true;
  write("db.snapshot.duckdb", "damaged");
  watch.look();
  EXPECT_EQ(watch.seen().document->bytes, "one");
  EXPECT_THAT(watch.seen().missing, HasSubstr("there is no database"));
}

TEST_F(WatchFiles, WhatCouldNotBeReadIsTriedAgainAfterAPause) {
  using std::chrono::milliseconds;
  Watch patient(options_, content_), eager(options_, content_, milliseconds(0));
  fail_ = true;
  write("db.snapshot.duckdb", "a");
  for (Watch* watch : {&patient, &eager})
    for (int i = 0; i < 3; ++i) watch->look();
  EXPECT_EQ(made_, 1 + 3);
  fail_ = false;  // there was no memory, or no descriptor; the file is the same
  patient.look();
  eager.look();
  EXPECT_EQ(patient.seen().document, nullptr);
  ASSERT_NE(eager.seen().document, nullptr);
  EXPECT_EQ(eager.seen().missing, "");
}

TEST_F(WatchFiles, ReadersLearnThatTheSnapshotIsGoneAndThatItIsBack) {
  Watch watch(options_, content_);
  const fs::path snapshot = folder_->path() / "db.snapshot.duckdb", aside = folder_->path() / "aside";
  write("db.snapshot.duckdb", "a");
  watch.look();
  const std::uint64_t before = watch.seen().generation;
  fs::rename(snapshot, aside);
  fail_ = true;
  watch.look();
  EXPECT_GT(watch.seen().generation, before);
  EXPECT_THAT(watch.seen().missing, HasSubstr("there is no database"));
  EXPECT_EQ(watch.seen().document->bytes, "one");
  fs::rename(aside, snapshot);
  watch.look();
  EXPECT_EQ(watch.seen().missing, "") << "the document is of this snapshot";
  EXPECT_EQ(made_, 2);
}

TEST_F(WatchFiles, ProgressIsThatOfAProcessThatRuns) {
  Watch watch(options_, content_);
  write("db.progress.json", json_text(Json{{"pid", getpid()}, {"done", 3}}, 2));
  watch.look();
  EXPECT_EQ(watch.seen().progress, json_text(Json{{"pid", getpid()}, {"done", 3}}));
  constexpr int kNobody = 4'194'305;  // above the highest that Linux gives
  write("db.progress.json", json_text(Json{{"pid", kNobody}}));
  watch.look();
  EXPECT_EQ(watch.seen().progress, "");
  for (const char* content : {"", "[]", "{\"pid\": \"x\"}", "{\"pid\": -1}"}) {
    write("db.progress.json", content);
    watch.look();
    EXPECT_EQ(watch.seen().progress, "") << content;
  }
}

}  // namespace
}  // namespace assay::serve
