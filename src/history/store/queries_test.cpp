// SPDX-License-Identifier: Apache-2.0
// The queries of queries/*.sql: every one has a file NAME.sqltest beside it, which this test runs.
//
//     # what the case shows
//     row TABLE | column=value column="two words" …     (other columns are NULL)
//     query NAME | parameter=value list=[a,b] …
//     expect column column …
//     value | value                                      (- is NULL)
#include "history/store/queries.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "history/store/cells.hpp"
#include "history/store/schema.hpp"

namespace assay::duckdb {
namespace {
namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

fs::path folder_of_queries() { return fs::path(ASSAY_SOURCE_DIR) / "src/history/store/queries"; }

/// key=value key="a value with spaces"
std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& line) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    const std::size_t equals = line.find('=', i);
    EXPECT_NE(equals, std::string::npos) << line;
    const bool quoted_value = line[equals + 1] == '"';
    const std::size_t from = equals + (quoted_value ? 2 : 1);
    const std::size_t end = std::min(line.find(quoted_value ? '"' : ' ', from), line.size());
    pairs.emplace_back(line.substr(i, equals - i), line.substr(from, end - from));
    i = end + 1;
  }
  return pairs;
}

Json parameter_value(const std::string& value) {
  if (value.starts_with('[')) {
    Json list = Json::array();
    for (const std::string& each : split(std::string_view(value).substr(1, value.size() - 2), ','))
      if (!each.empty()) list.push_back(each);
    return list;
  }
  if (const auto number = parse_number<std::int64_t>(value)) return *number;
  return value;
}

std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "-";
  return cell.is_string() ? cell.get<std::string>() : cell.dump();
}

class QueryTest : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(create_database(path_));
    auto opened = open_database(path_, Access::kReadWrite);
    ASSERT_TRUE(opened) << to_string(opened.error());
    database_.emplace(std::move(*opened));
  }
  void insert(const std::string& table, const std::string& values) {
    std::string names, literals;
    for (const auto& [name, value] : pairs_of(values)) {
      names += (names.empty() ? "" : ", ") + quoted_name(name);
      literals += (literals.empty() ? "" : ", ") + duckdb::quoted(value);
    }
    const Status done = database_->execute(fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, literals));
    EXPECT_TRUE(done) << to_string(done.error());
  }
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";
  std::optional<Database> database_;
};

TEST_P(QueryTest, AnswersAsItsFileExpects) {
  const auto file = read_file(folder_of_queries() / fmt::format("{}.sqltest", GetParam()));
  ASSERT_TRUE(file) << "every query needs a test";
  std::istringstream lines(*file);
  std::size_t cases = 0;
  Rows answer;
  std::string title;
  for (std::string line; std::getline(lines, line);) {
    const auto [word, rest] = [&] {
      const std::size_t space = line.find(' ');
      return std::pair(line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1));
    }();
    const std::size_t bar = rest.find(" |");
    const std::string name = rest.substr(0, bar), values = bar == std::string::npos ? "" : rest.substr(bar + 2);
    if (word == "#") {
      if (cases++ > 0) {
        ASSERT_TRUE(database_->execute("ROLLBACK"));
      }
      ASSERT_TRUE(database_->execute("BEGIN"));
      title = rest;
    } else if (word == "row") {
      insert(name, values);
    } else if (word == "query") {
      Json parameters = Json::object();
      for (const auto& [key, value] : pairs_of(values)) parameters[key] = parameter_value(value);
      Result<Rows> rows = ask(*database_, name, parameters);
      ASSERT_TRUE(rows) << title << ": " << to_string(rows.error());
      answer = std::move(*rows);
    } else if (word == "expect") {
      std::string found, expected;
      for (const auto& row : answer.rows) {
        std::string text;
        for (const std::string& column : split(rest, ' '))
          text += (text.empty() ? "" : " | ") + cell_text(row.at(answer.column(column)));
        found += text + "\n";
      }
      for (std::string row; std::getline(lines, row) && !row.empty();) expected += row + "\n";
      EXPECT_EQ(found, expected) << GetParam() << ": " << title;
    } else {
      EXPECT_EQ(line, "") << "a line that is not understood";
    }
  }
  EXPECT_GT(cases, 0U);
}

TEST_P(QueryTest, HasTheColumnsOfItsHeadAndAnswersOfAnEmptyDatabase) {
  const auto* file = std::ranges::find(query_files(), GetParam(), &QueryFile::name).base();
  const Result<Rows> rows = ask(*database_, GetParam(), Json::object());
  ASSERT_TRUE(rows) << to_string(rows.error());
  EXPECT_EQ(rows->columns, read_query(*file).columns);
  EXPECT_THAT(std::string(file->sql), HasSubstr("\n-- budget: "));
}

// A hundred million samples are read by nobody who waits for a page: statistics are in the rows of launches and cells,
// and what pictures need in sample_distributions.
TEST_P(QueryTest, AnswersWithoutTheTableOfSamples) {
  ASSERT_TRUE(database_->execute("DROP VIEW raw_benchmark_data; DROP TABLE samples"));
  ASSERT_FALSE(database_->query("SELECT * FROM raw_benchmark_data"));
  const Result<Rows> rows = ask(*database_, GetParam(), Json::object());
  EXPECT_TRUE(rows) << to_string(rows.error());
}

INSTANTIATE_TEST_SUITE_P(Queries, QueryTest, ::testing::ValuesIn([] {
                           std::vector<std::string_view> names;
                           for (const QueryFile& file : query_files()) names.push_back(file.name);
                           return names;
                         }()),
                         [](const auto& query) { return std::string(query.param); });

TEST(QueryFiles, AreThoseOfTheFolder) {
  for (const auto& entry : fs::directory_iterator(folder_of_queries())) {
    const std::string name = entry.path().stem();
    EXPECT_NE(std::ranges::find(query_files(), name, &QueryFile::name), query_files().end()) << entry.path();
  }
}

class AskSqlTest : public QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    insert("benchmark_results", "result_id=1 model=bert batch_size=4 latency_p50_ms=1.5");
    database_.reset();
    database_.emplace(std::move(*open_database(path_, Access::kReadOnly)));
  }
};

TEST_F(AskSqlTest, ReadsWhatCanStandInParentheses) {
  for (const char* sql : {"SELECT model FROM benchmark_results", "FROM benchmark_results;", "SHOW TABLES",
                          "WITH a AS (SELECT 1 AS x) SELECT * FROM a -- the end", "DESCRIBE benchmark_results",
                          "SUMMARIZE benchmark_results", "SELECT * FROM latest_results", "VALUES (1), (2)"}) {
    const auto rows = ask_sql(*database_, sql, {.most_rows = 10});
    EXPECT_TRUE(rows) << sql << ": " << to_string(rows.error());
  }
  const auto rows = ask_sql(*database_,
                            "SELECT batch_size AS b, sum(batch_size) AS b, 1.25 AS d, DATE '2026-03-02' AS day, [1, 2] "
                            "AS list, 3::UTINYINT AS small, count(*) > 0 AS any FROM benchmark_results GROUP BY ALL",
                            {});
  ASSERT_TRUE(rows) << to_string(rows.error());
  EXPECT_EQ(json_text(Json(rows->rows.at(0))), R"([4,4,1.25,"2026-03-02","[1, 2]",3,true])");
  EXPECT_EQ(ask_sql(*database_, "SELECT * FROM range(100)", {.most_rows = 7})->rows.size(), 7U);
}

TEST_F(AskSqlTest, ErrorsQuoteTheLineAsItWasTyped) {
  const auto words = [&](const std::string& sql) {
    const auto rows = ask_sql(*database_, sql, {.most_rows = 10});
    return rows ? std::string("no error") : rows.error().message;
  };
  EXPECT_THAT(words("SELECT nonsense FROM range(3)"),
              EndsWith("\n\nLINE 1: SELECT nonsense FROM range(3)\n               ^"));
  EXPECT_THAT(words("  SELECT model,\n    nonsense\nFROM benchmark_results;\n"),
              EndsWith("\n\nLINE 2:     nonsense\n            ^"));
  // The tenth line of what DuckDB reads is the ninth here: the mark moves with the shorter number.
  EXPECT_THAT(words(std::string(8, '\n') + "SELECT * FROM nowhere"),
              EndsWith("\n\nLINE 9: SELECT * FROM nowhere\n                      ^"));
  EXPECT_THAT(words("SELECT CAST('a' AS INTEGER)"),
              EndsWith("\n\nLINE 1: SELECT CAST('a' AS INTEGER)\n               ^"));
  EXPECT_THAT(words("\nSELEC 1"), EndsWith("\n\nLINE 2: SELEC 1\n        ^"));
  EXPECT_THAT(words("SELECT (1"), HasSubstr("syntax error at end of input"));
  const std::string too_large = words("SELECT 1e30::HUGEINT AS n");
  EXPECT_THAT(too_large, HasSubstr("out of range"));
  EXPECT_THAT(too_large, Not(HasSubstr("LINE"))) << "the place is not in the user's text";
  EXPECT_EQ(words("DROP TABLE launches"), "not a statement that only reads: 'DROP TABLE launches'");
  EXPECT_THAT(words("SELECT 'LINE 7: x' AS a, nonsense"), HasSubstr("\n\nLINE 1: SELECT 'LINE 7: x' AS a, nonsense\n"));
}

TEST_F(AskSqlTest, IsInterruptedAtAnyTime) {
  constexpr const char* kForever =
      "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c WHERE a.range + b.range = c.range - 1";
  std::atomic<int> asked = 0;  // two threads ask
  for (const int before : {0, 1, 3}) {
    asked = 0;
    const auto rows = ask_sql(*database_, kForever, {}, [&] { return ++asked > before; });
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(rows.error().message, "the query was interrupted");
  }
  EXPECT_TRUE(ask_sql(*database_, "SELECT 1", {}, [] { return false; })) << "the database can be asked again";
}

TEST_F(AskSqlTest, NeitherAQueryNorItsAnswerNeedsMoreMemoryThanItsLimit) {
  constexpr std::uint64_t kMegabyte = 1'000'000;
  for (const char* sql : {"SELECT list(range) FROM range(100000000)",             // the query
                          "SELECT repeat('x', 10000) AS x FROM range(10000)"}) {  // its answer
    const auto rows = ask_sql(*database_, sql, {.memory_bytes = 64 * kMegabyte});
    ASSERT_FALSE(rows) << sql;
    EXPECT_EQ(rows.error().code, ErrorCode::kOutOfMemory) << to_string(rows.error());
    EXPECT_EQ(rows.error().message, "the query, or its answer, needs more memory than its limit of 64 MB");
  }
  EXPECT_FALSE(ask_sql(*database_, "SET memory_limit = '1GB'", {}));
  EXPECT_FALSE(fs::exists(path_.string() + ".tmp")) << "nothing is put on the disk instead";
}

TEST_F(AskSqlTest, DoesNothingElse) {
  const fs::path secret = folder_.path() / "secret.csv", out = folder_.path() / "out.csv";
  ASSERT_TRUE(write_file_atomically(secret, "a\n1\n"));
  for (const std::string& sql :
       {std::string("SELECT 1); DROP TABLE launches --"), std::string("DROP TABLE launches"),
        std::string("DELETE FROM launches"), std::string("SELECT 1; SELECT 2"), std::string(),
        std::string("INSERT INTO launches (launch_id) VALUES (1)"), std::string("CREATE TABLE t (a INT)"),
        std::string("SET lock_configuration = false"), std::string("SET enable_external_access = true"),
        fmt::format("SELECT * FROM read_csv('{}')", secret.string()), fmt::format("FROM '{}'", secret.string()),
        fmt::format("COPY launches TO '{}'", out.string()), fmt::format("ATTACH '{}' AS x", out.string()),
        std::string("SELECT * FROM read_text('/etc/passwd')"), std::string("INSTALL httpfs"),
        std::string("SELECT nonsense"), std::string("SELEC 1")}) {
    const auto rows = ask_sql(*database_, sql, {.most_rows = 10});
    EXPECT_FALSE(rows) << sql;
    EXPECT_TRUE(rows || rows.error().code != ErrorCode::kInternal) << sql << ": " << to_string(rows.error());
  }
  EXPECT_FALSE(fs::exists(out));
  EXPECT_TRUE(database_->query("SELECT count(*) FROM launches"));
}

}  // namespace
}  // namespace assay::duckdb
