// SPDX-License-Identifier: Apache-2.0
#include "toy.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum Type : std::int32_t { kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9, kHalf = 10 };

using Dims = std::vector<std::int64_t>;

struct Tensor {
  std::int32_t type = 0;
  Dims dims;
  std::vector<char> bytes;

  [[nodiscard]] std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : dims) n *= extent;
    return n;
  }
  template <class T>
  [[nodiscard]] const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <class T>
  [[nodiscard]] T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

std::size_t width(std::int32_t type) {
  switch (type) {
    case kFloat:
    case kInt32:
      return 4;
    case kInt64:
      return 8;
    case kBool:
      return 1;
    case kHalf:
      return 2;
    default:
      throw std::runtime_error("unsupported element type " + std::to_string(type));
  }
}

Tensor make(std::int32_t type, Dims dims) {
  Tensor tensor{type, std::move(dims), {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.count()) * width(type));
  return tensor;
}

// --- ONNX's messages, as far as needed: fields of varints and of bytes -----------------------------------------

struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

std::vector<Field> fields(std::string_view message) {
  std::vector<Field> list;
  std::size_t at = 0;
  const auto take = [&](std::size_t size) {
    if (size > message.size() - at) throw std::runtime_error("not an ONNX file, or cut short");
    const std::string_view part = message.substr(at, size);
    at += size;
    return part;
  };
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("not an ONNX file");
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    Field field{static_cast<std::uint32_t>(key >> 3), 0, {}};
    switch (key & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        throw std::runtime_error("not an ONNX file");
    }
    list.push_back(field);
  }
  return list;
}

// A repeated integer, packed or not.
void add_integers(const Field& field, Dims& to) {
  if (field.bytes.empty()) {
    to.push_back(static_cast<std::int64_t>(field.value));
    return;
  }
  std::uint64_t value = 0;
  int shift = 0;
  for (const char c : field.bytes) {
    value |= static_cast<std::uint64_t>(c & 0x7F) << shift;
    shift += 7;
    if ((c & 0x80) != 0) continue;
    to.push_back(static_cast<std::int64_t>(value));
    value = 0;
    shift = 0;
  }
}

struct Node {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::int64_t> attributes;
};

struct Port {
  std::string name;
  std::int32_t type = 0;
  Dims dims;
  std::vector<std::string> symbols;
};

Tensor read_tensor(std::string_view message, std::string& name) {
  Tensor tensor;
  std::string_view raw;
  for (const Field& field : fields(message)) {
    if (field.number == 1) add_integers(field, tensor.dims);
    if (field.number == 2) tensor.type = static_cast<std::int32_t>(field.value);
    if (field.number == 8) name = field.bytes;
    if (field.number == 9) raw = field.bytes;
  }
  tensor.bytes.assign(raw.begin(), raw.end());
  if (tensor.bytes.size() != static_cast<std::size_t>(tensor.count()) * width(tensor.type))
    throw std::runtime_error("initializer '" + name + "' does not have the bytes of its shape");
  return tensor;
}

Port read_port(std::string_view message) {
  Port port;
  std::string_view type;
  for (const Field& field : fields(message)) {
    if (field.number == 1) port.name = field.bytes;
    if (field.number == 2) type = field.bytes;
  }
  for (const Field& kind : fields(type)) {
    if (kind.number != 1) continue;
    for (const Field& field : fields(kind.bytes)) {
      if (field.number == 1) port.type = static_cast<std::int32_t>(field.value);
      if (field.number != 2) continue;
      for (const Field& dim : fields(field.bytes)) {
        port.dims.push_back(-1);
        port.symbols.emplace_back();
        for (const Field& extent : fields(dim.bytes)) {
          if (extent.number == 1) port.dims.back() = static_cast<std::int64_t>(extent.value);
          if (extent.number == 2) port.symbols.back() = extent.bytes;
        }
      }
    }
  }
  return port;
}

Node read_node(std::string_view message) {
  Node node;
  for (const Field& field : fields(message)) {
    if (field.number == 1) node.inputs.emplace_back(field.bytes);
    if (field.number == 2) node.outputs.emplace_back(field.bytes);
    if (field.number == 4) node.op = field.bytes;
    if (field.number != 5) continue;
    std::string name;
    std::int64_t value = 0;
    for (const Field& part : fields(field.bytes)) {
      if (part.number == 1) name = part.bytes;
      if (part.number == 3) value = static_cast<std::int64_t>(part.value);
    }
    node.attributes[name] = value;
  }
  return node;
}

// --- Operators
// --------------------------------------------------------------------------------------------------------

template <class Function>
void each_broadcast(const Tensor& a, const Tensor& b, const Dims& dims, Function function) {
  const auto place = [&](const Tensor& tensor, const Dims& at) {
    std::int64_t index = 0;
    const std::size_t skip = dims.size() - tensor.dims.size();
    for (std::size_t d = 0; d < tensor.dims.size(); ++d)
      index = index * tensor.dims[d] + (tensor.dims[d] == 1 ? 0 : at[d + skip]);
    return index;
  };
  std::int64_t total = 1;
  for (const std::int64_t extent : dims) total *= extent;
  Dims at(dims.size(), 0);
  for (std::int64_t i = 0; i < total; ++i) {
    function(i, place(a, at), place(b, at));
    for (std::size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];) at[d] = 0;
  }
}

template <class T>
void combine(const Tensor& a, const Tensor& b, bool multiply, Tensor& out) {
  each_broadcast(a, b, out.dims, [&](std::int64_t i, std::int64_t x, std::int64_t y) {
    out.as<T>()[i] = multiply ? a.as<T>()[x] * b.as<T>()[y] : a.as<T>()[x] + b.as<T>()[y];
  });
}

Tensor arithmetic(const Tensor& a, const Tensor& b, bool multiply) {
  const Tensor& longer = a.dims.size() >= b.dims.size() ? a : b;
  const Tensor& shorter = &longer == &a ? b : a;
  Dims dims = longer.dims;
  const std::size_t skip = dims.size() - shorter.dims.size();
  for (std::size_t d = 0; d < shorter.dims.size(); ++d) {
    std::int64_t& extent = dims[d + skip];
    if (extent != shorter.dims[d] && extent != 1 && shorter.dims[d] != 1) throw std::runtime_error("shapes do not fit");
    if (extent == 1) extent = shorter.dims[d];
  }
  Tensor out = make(a.type, std::move(dims));
  if (a.type == kFloat) combine<float>(a, b, multiply, out);
  if (a.type == kInt32) combine<std::int32_t>(a, b, multiply, out);
  if (a.type == kInt64) combine<std::int64_t>(a, b, multiply, out);
  return out;
}

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  const std::int64_t rows = a.dims.at(0), inner = a.dims.at(1), columns = b.dims.at(1);
  if (b.dims.at(0) != inner) throw std::runtime_error("MatMul: shapes do not fit");
  Tensor out = make(kFloat, {rows, columns});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double total = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        total += static_cast<double>(a.as<float>()[i * inner + k]) * b.as<float>()[k * columns + j];
      out.as<float>()[i * columns + j] = static_cast<float>(total);
    }
  return out;
}

Tensor concat(const Tensor& a, const Tensor& b, std::size_t axis) {
  Dims dims = a.dims;
  dims.at(axis) += b.dims.at(axis);
  Tensor out = make(a.type, dims);
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= dims[d];
  char* to = out.bytes.data();
  for (std::int64_t i = 0; i < outer && !out.bytes.empty(); ++i)
    for (const Tensor* part : {&a, &b}) {
      const std::size_t size = part->bytes.size() / static_cast<std::size_t>(outer);
      if (size > 0) std::memcpy(to, part->bytes.data() + static_cast<std::size_t>(i) * size, size);
      to += size;
    }
  return out;
}

Tensor gather(const Tensor& table, const Tensor& ids) {
  if (table.dims.empty() || table.dims[0] == 0) throw std::runtime_error("Gather: the table is empty");
  Dims dims = ids.dims;
  dims.insert(dims.end(), table.dims.begin() + 1, table.dims.end());
  Tensor out = make(table.type, std::move(dims));
  const std::size_t row = table.bytes.size() / static_cast<std::size_t>(table.dims[0]);
  for (std::int64_t i = 0; i < ids.count(); ++i) {
    const std::int64_t id = ids.as<std::int64_t>()[i];
    if (id < 0 || id >= table.dims[0]) throw std::runtime_error("Gather: an index is beyond the table");
    std::memcpy(out.bytes.data() + static_cast<std::size_t>(i) * row,
                table.bytes.data() + static_cast<std::size_t>(id) * row, row);
  }
  return out;
}

Tensor arg_max(const Tensor& x) {
  const std::int64_t rows = x.dims.at(0), columns = x.dims.at(1);
  Tensor out = make(kInt64, {rows});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 1; j < columns; ++j) {
      std::int64_t& best = out.as<std::int64_t>()[i];
      if (x.as<float>()[i * columns + j] > x.as<float>()[i * columns + best]) best = j;
    }
  return out;
}

Tensor each(const Tensor& x, float (*function)(float)) {
  Tensor out = make(kFloat, x.dims);
  for (std::int64_t i = 0; i < x.count(); ++i) out.as<float>()[i] = function(x.as<float>()[i]);
  return out;
}

Tensor negative(const Tensor& x) {
  if (x.type == kFloat) return each(x, [](float value) { return -value; });
  if (x.type != kHalf) throw std::runtime_error("unsupported: Neg of this type");
  Tensor out = x;
  for (std::int64_t i = 0; i < x.count(); ++i) out.as<std::uint16_t>()[i] ^= 0x8000;
  return out;
}

Tensor sum(const Tensor& x) {
  double total = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) total += x.as<float>()[i];
  Tensor out = make(kFloat, {});
  out.as<float>()[0] = static_cast<float>(total);
  return out;
}

Tensor inverse(const Tensor& x) {
  Tensor out = x;
  for (char& byte : out.bytes) byte = byte == 0 ? 1 : 0;
  return out;
}

Tensor to_float(const Tensor& x) {
  Tensor out = make(kFloat, x.dims);
  for (std::int64_t i = 0; i < x.count(); ++i) out.as<float>()[i] = static_cast<float>(x.as<std::int64_t>()[i]);
  return out;
}

const std::set<std::string, std::less<>> kOperators{"MatMul", "Relu", "ArgMax", "Gather", "ReduceSum", "Mul",
                                                    "Add",    "Neg",  "Concat", "Not",    "Cast"};

Tensor compute(const Node& node, const std::vector<const Tensor*>& in) {
  if (node.op == "MatMul") return matrix_product(*in.at(0), *in.at(1));
  if (node.op == "Relu") return each(*in.at(0), [](float value) { return value > 0 ? value : 0.0F; });
  if (node.op == "ArgMax") return arg_max(*in.at(0));
  if (node.op == "Gather") return gather(*in.at(0), *in.at(1));
  if (node.op == "ReduceSum") return sum(*in.at(0));
  if (node.op == "Mul" || node.op == "Add") return arithmetic(*in.at(0), *in.at(1), node.op == "Mul");
  if (node.op == "Neg") return negative(*in.at(0));
  if (node.op == "Concat") return concat(*in.at(0), *in.at(1), static_cast<std::size_t>(node.attributes.at("axis")));
  if (node.op == "Not") return inverse(*in.at(0));
  return to_float(*in.at(0));
}

thread_local std::string why;

template <class Body>
const char* guarded(Body&& body) {
  try {
    body();
    return nullptr;
  } catch (const std::exception& exception) {
    why = exception.what();
    return why.c_str();
  }
}

}  // namespace

struct toy_model {
  std::vector<Node> nodes;
  std::map<std::string, Tensor> constants;
  std::vector<Port> inputs, outputs;
};

struct toy_results {
  std::vector<Tensor> tensors;
};

const char* toy_version(void) { return "0.3"; }

const char* toy_load(const char* file, toy_model** out) {
  return guarded([&] {
    std::ifstream stream(file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    auto model = std::make_unique<toy_model>();
    for (const Field& part : fields(text)) {
      if (part.number != 7) continue;
      for (const Field& field : fields(part.bytes)) {
        std::string name;
        if (field.number == 1) model->nodes.push_back(read_node(field.bytes));
        if (field.number == 5) {
          Tensor tensor = read_tensor(field.bytes, name);
          model->constants[name] = std::move(tensor);
        }
        if (field.number == 11) model->inputs.push_back(read_port(field.bytes));
        if (field.number == 12) model->outputs.push_back(read_port(field.bytes));
      }
    }
    if (model->outputs.empty()) throw std::runtime_error("not an ONNX file: it has no graph with outputs");
    for (const Node& node : model->nodes)
      if (!kOperators.contains(node.op)) throw std::runtime_error("unsupported operator " + node.op);
    *out = model.release();
  });
}

void toy_free(toy_model* model) { delete model; }

size_t toy_count(const toy_model* model, int outputs) { return (outputs ? model->outputs : model->inputs).size(); }

const char* toy_describe(const toy_model* model, int outputs, size_t index, toy_tensor* out, const char** symbols) {
  const Port& port = (outputs ? model->outputs : model->inputs)[index];
  *out = {};
  out->type = port.type;
  out->rank = port.dims.size();
  for (std::size_t d = 0; d < port.dims.size(); ++d) {
    out->dims[d] = port.dims[d];
    symbols[d] = port.symbols[d].c_str();
  }
  return port.name.c_str();
}

const char* toy_run(const toy_model* model, const toy_tensor* inputs, toy_results** out) {
  return guarded([&] {
    std::map<std::string, Tensor> values;
    for (std::size_t i = 0; i < model->inputs.size(); ++i) {
      const auto* data = static_cast<const char*>(inputs[i].data);
      values[model->inputs[i].name] = {inputs[i].type, Dims(inputs[i].dims, inputs[i].dims + inputs[i].rank),
                                       std::vector<char>(data, data + inputs[i].bytes)};
    }
    for (const Node& node : model->nodes) {
      std::vector<const Tensor*> given;
      for (const std::string& name : node.inputs) {
        const auto constant = model->constants.find(name);
        given.push_back(constant != model->constants.end() ? &constant->second : &values.at(name));
      }
      Tensor made = compute(node, given);
      values[node.outputs.at(0)] = std::move(made);
    }
    auto results = std::make_unique<toy_results>();
    for (const Port& port : model->outputs) results->tensors.push_back(values.at(port.name));
    *out = results.release();
  });
}

void toy_result(const toy_results* results, size_t index, toy_tensor* out) {
  const Tensor& tensor = results->tensors[index];
  *out = {};
  out->type = tensor.type;
  out->rank = tensor.dims.size();
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) out->dims[d] = tensor.dims[d];
  out->data = tensor.bytes.data();
  out->bytes = tensor.bytes.size();
}

void toy_free_results(toy_results* results) { delete results; }
