// SPDX-License-Identifier: Apache-2.0
#include "models/hub/transfer.hpp"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <type_traits>

#include "core/base/files.hpp"

// The macros that check types at compile time call the functions by their linked names.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace assay::hub {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostText = 64u << 20;
constexpr long kPartialContent = 206, kFirstNoContent = 300;

struct Curl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) info = nullptr;
  decltype(&curl_easy_strerror) describe = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;
};

Result<Curl> load() {
  void* library = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("libcurl was not found: {}", ::dlerror()),
                "install libcurl4, or put the model into a folder and name that");
  Curl curl;
  const auto find = [&](auto& member, const char* name) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(::dlsym(library, name));
    return member != nullptr;
  };
  if (!find(curl.global_init, "curl_global_init") || !find(curl.init, "curl_easy_init") ||
      !find(curl.set, "curl_easy_setopt") || !find(curl.perform, "curl_easy_perform") ||
      !find(curl.info, "curl_easy_getinfo") || !find(curl.describe, "curl_easy_strerror") ||
      !find(curl.cleanup, "curl_easy_cleanup") || !find(curl.append, "curl_slist_append") ||
      !find(curl.free_list, "curl_slist_free_all"))
    return fail(ErrorCode::kIncompatiblePlugin, "libcurl lacks a function that it has had since 7.10");
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return fail(ErrorCode::kInternal, "libcurl could not be initialised");
  return curl;
}

const Result<Curl>& library() {
  static const Result<Curl> curl = load();
  return curl;
}

// Where the body goes, and what ended it.
struct Receiver {
  const Curl* curl = nullptr;
  CURL* handle = nullptr;
  std::string* text = nullptr;  ///< receives the body; nullptr: `file` does
  std::FILE* file = nullptr;    ///< receives the body; nullptr: `text` does
  std::uint64_t size = 0;       ///< bytes received so far, those of an earlier attempt included
  std::uint64_t most = kMostText;
  const Arrived* arrived = nullptr;
  bool begun = false, disk_failed = false, too_long = false;
};

std::size_t receive(char* data, std::size_t one, std::size_t count, void* user) {
  auto& receiver = *static_cast<Receiver*>(user);
  const std::size_t bytes = one * count;
  long status = 0;
  receiver.curl->info(receiver.handle, CURLINFO_RESPONSE_CODE, &status);
  if (status >= kFirstNoContent) return bytes;  // the page of a redirect or an error is not the file
  if (!receiver.begun && receiver.file != nullptr && status != kPartialContent) {
    // Asked to go on, the server starts anew.
    receiver.disk_failed = ::ftruncate(::fileno(receiver.file), 0) != 0;
    receiver.size = 0;
  }
  receiver.begun = true;
  receiver.too_long = bytes > receiver.most - receiver.size;
  if (receiver.disk_failed || receiver.too_long) return 0;
  if (receiver.text != nullptr) {
    receiver.text->append(data, bytes);
  } else if (receiver.file == nullptr || std::fwrite(data, 1, bytes, receiver.file) != bytes) {
    receiver.disk_failed = true;
    return 0;
  }
  receiver.size += bytes;
  return bytes;
}

// Called often, even while nothing arrives: cancelling does not wait for the network.
int tick(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& receiver = *static_cast<Receiver*>(user);
  return receiver.arrived == nullptr || (*receiver.arrived)(receiver.size) ? 0 : 1;
}

Answer::Kind kind_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return Answer::Kind::kDone;
    case CURLE_ABORTED_BY_CALLBACK:
      return Answer::Kind::kCancelled;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WRITE_ERROR:
      return Answer::Kind::kCut;
    default:
      return Answer::Kind::kUnreachable;
  }
}

Result<Answer> perform(const Settings& settings, const std::string& url, Receiver& receiver) {
  if (!library()) return tl::unexpected<Error>(library().error());
  const Curl& curl = *library();
  const std::unique_ptr<CURL, decltype(curl.cleanup)> owned(curl.init(), curl.cleanup);
  CURL* handle = owned.get();
  if (handle == nullptr) return fail(ErrorCode::kInternal, "libcurl returned no handle");
  receiver.curl = &curl;
  receiver.handle = handle;
  char words[CURL_ERROR_SIZE] = {};
  curl.set(handle, CURLOPT_ERRORBUFFER, words);
  curl.set(handle, CURLOPT_URL, url.c_str());
  curl.set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.set(handle, CURLOPT_USERAGENT, "assay");
  curl.set(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl.set(handle, CURLOPT_MAXREDIRS, 10L);
  curl.set(handle, CURLOPT_NOSIGNAL, 1L);
  curl.set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.connect_timeout.count()));
  curl.set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl.set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings.stall_timeout.count()));
  if (!settings.token.empty()) {
    // As a login, not as a header: libcurl keeps logins from the hosts that a redirect leads to.
    curl.set(handle, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    curl.set(handle, CURLOPT_XOAUTH2_BEARER, settings.token.c_str());
  }
  if (receiver.size > 0) curl.set(handle, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(receiver.size));
  curl.set(handle, CURLOPT_WRITEFUNCTION, &receive);
  curl.set(handle, CURLOPT_WRITEDATA, &receiver);
  curl.set(handle, CURLOPT_NOPROGRESS, 0L);
  curl.set(handle, CURLOPT_XFERINFOFUNCTION, &tick);
  curl.set(handle, CURLOPT_XFERINFODATA, &receiver);

  const CURLcode code = curl.perform(handle);
  Answer answer;
  curl.info(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  answer.kind = kind_of(code);
  // A time-out may be of the connection or of a body that stalled; a server that does not know ranges is an answer.
  if (code == CURLE_OPERATION_TIMEDOUT && answer.status != 0) answer.kind = Answer::Kind::kCut;
  if (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME) answer.kind = Answer::Kind::kCut;
  if (receiver.disk_failed) answer.kind = Answer::Kind::kDisk;
  if (answer.kind != Answer::Kind::kDone)
    answer.problem = receiver.too_long ? "more bytes than announced" : words[0] != '\0' ? words : curl.describe(code);
  return answer;
}

}  // namespace

Result<Answer> get_text(const Settings& settings, const std::string& url, std::string& body, const Arrived& arrived) {
  body.clear();
  Receiver receiver;
  receiver.text = &body;
  receiver.arrived = &arrived;
  return perform(settings, url, receiver);
}

Result<Answer> get_file(const Settings& settings, const std::string& url, const fs::path& path, std::uint64_t most,
                        const Arrived& arrived) {
  ASSAY_CHECK_OK(make_directories(path.parent_path()));
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "ab"), &std::fclose);
  if (!file)
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)));
  std::error_code error;
  Receiver receiver;
  receiver.file = file.get();
  receiver.size = fs::file_size(path, error);
  receiver.most = std::max(most, receiver.size);
  receiver.arrived = &arrived;
  ASSAY_TRY(Answer answer, perform(settings, url, receiver));
  if (std::fflush(file.get()) != 0) answer.kind = Answer::Kind::kDisk;
  if (answer.kind == Answer::Kind::kDisk) answer.problem = std::strerror(errno);
  return answer;
}

}  // namespace assay::hub
