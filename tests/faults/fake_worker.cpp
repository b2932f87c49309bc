// SPDX-License-Identifier: Apache-2.0

// A worker that breaks bench/worker/protocol.hpp in the way that ASSAY_FAKE names: "FAULT" in its first message, or
// "reply FAULT" after a correct one, in its reply to the first request.

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr int kSocket = 3;

void write_all(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(kSocket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) ::_exit(1);
    done += static_cast<std::size_t>(sent);
  }
}

std::string length_of(std::size_t size) {
  return {static_cast<char>(size), static_cast<char>(size >> 8), static_cast<char>(size >> 16),
          static_cast<char>(size >> 24)};
}

void send_message(const std::string& body) { write_all(length_of(body.size()) + body); }

[[noreturn]] void stay() {
  while (true) ::pause();
}

std::string opened(std::size_t levels) { return std::string(levels, '['); }
std::string nested(std::size_t levels) { return opened(levels) + std::string(levels, ']'); }

void misbehave(const std::string& fault) {
  if (fault == "nested") send_message("{\"protocol\": " + nested(30'000) + "}");
  if (fault == "long") send_message("{\"protocol\": " + nested(300'000) + "}");
  if (fault == "brackets") send_message(opened(20'000'000));
  if (fault == "brackets_that_fit") send_message(opened(4'000'000));
  if (fault == "garbage") write_all("HTTP/1.1 200 OK\r\n\r\n");
  if (fault == "not_json") send_message("hello");
  if (fault == "empty") send_message("");
  if (fault == "nul") send_message(std::string("{\"protocol\0\": 1}", 16));
  if (fault == "utf8") send_message("{\"protocol\": \"\xff\xfe\"}");
  if (fault == "number") send_message("{\"protocol\": 1e999}");
  if (fault == "list") send_message("[1]");
  if (fault == "text") send_message("\"ok\"");
  if (fault == "neither") send_message("{\"protocol\": 1, \"okay\": {}}");
  if (fault == "ok_list") send_message("{\"ok\": []}");
  if (fault == "error_text") send_message("{\"protocol\": 1, \"error\": \"no\"}");
  if (fault == "half") write_all(length_of(100) + "{\"ok\": ");
  if (fault == "half_exit") {
    write_all(length_of(100) + "{\"ok\": ");
    ::_exit(0);
  }
  if (fault == "close") {
    write_all(length_of(100) + "{\"ok\": ");
    ::close(kSocket);
  }
  if (fault == "drip") {
    write_all(length_of(10'000));
    while (true) {
      write_all(" ");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  if (fault == "flood") {
    const std::string much(1 << 16, '\0');
    while (true) write_all(much);
  }
  stay();
}

void await_request() {
  std::uint32_t size = 0;
  if (::recv(kSocket, &size, sizeof size, MSG_WAITALL) != sizeof size) ::_exit(0);
  std::string body(size, '\0');
  if (::recv(kSocket, body.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size)) ::_exit(0);
}

}  // namespace

int main() {
  const char* const asked = std::getenv("ASSAY_FAKE");
  const std::string fault = asked == nullptr ? "" : asked;
  if (!fault.starts_with("reply ")) misbehave(fault);
  send_message("{\"protocol\": 1}");
  if (fault == "reply deaf") stay();
  await_request();
  misbehave(fault.substr(6));
}
