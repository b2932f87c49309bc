// SPDX-License-Identifier: Apache-2.0
#include "models/model/classify.hpp"

#include <algorithm>
#include <initializer_list>

#include "core/base/text.hpp"
#include "core/result/family_words.hpp"
#include "models/inputs/input_axes.hpp"
#include "models/onnx/model_info.hpp"

namespace assay {
namespace {

using Words = std::initializer_list<std::string_view>;

constexpr std::int64_t kFewestTokens = 1000;    // of a vocabulary; labels of tokens are fewer
constexpr std::int64_t kFewestCharacters = 24;  // of what speech is written in; labels of sounds' frames are fewer
constexpr std::int64_t kMostColours = 4;
constexpr std::int64_t kImageNetClasses = 1000;  // of the challenge; some add the background
constexpr std::size_t kImageRank = 4, kVideoRank = 5;

bool has_word(const std::string& name, Words words) {
  const std::string text = lower(name);
  return std::any_of(words.begin(), words.end(), [&](auto word) { return text.find(word) != std::string::npos; });
}

bool is_one_of(const std::string& text, Words words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// What goes in, what comes out, and what computes, as questions.
class Graph {
 public:
  explicit Graph(const ModelInfo& model) : model_(model) {}

  [[nodiscard]] bool input_has(Words words) const { return any(model_.inputs, words); }
  [[nodiscard]] bool output_has(Words words) const { return any(model_.outputs, words); }
  [[nodiscard]] bool has_operator(Words words) const {
    return std::ranges::any_of(model_.operators, [&](const auto& each) { return is_one_of(each.second, words); });
  }

  // Ids of tokens: named so, or what a network looks up in a table.
  [[nodiscard]] bool takes_tokens() const {
    return std::ranges::any_of(model_.inputs, [&](const ModelValue& input) {
      if (role_of(input) != InputRole::kIds || (input.has_rank && input.shape.size() != 2)) return false;
      return has_word(input.name, {"ids", "tokens"}) || has_operator({"MatMul", "Gemm", "LSTM", "GRU", "Attention"});
    });
  }

  // Pixels: named so, or of an image's shape and convolved.
  [[nodiscard]] bool takes_images() const {
    return std::ranges::any_of(model_.inputs, [&](const ModelValue& input) {
      if (role_of(input) != InputRole::kImage || input.shape.size() != kImageRank) return false;
      return has_word(input.name, {"pixel", "image"}) ||
             (has_operator({"Conv", "ConvInteger", "QLinearConv"}) &&
              (is_colours(input.shape[1]) || is_colours(input.shape[kImageRank - 1])));
    });
  }

  [[nodiscard]] bool takes_videos() const {
    return std::ranges::any_of(model_.inputs, [](const ModelValue& input) {
      return role_of(input) == InputRole::kImage && input.shape.size() == kVideoRank;
    });
  }

  [[nodiscard]] bool takes_sound() const {
    return std::ranges::any_of(model_.inputs, [](const ModelValue& input) {
      return role_of(input) == InputRole::kMel || role_of(input) == InputRole::kWave;
    });
  }

  [[nodiscard]] bool keeps_states() const { return input_has({"past"}) || output_has({"present"}); }

  // A score for each word of a vocabulary: the output of a language model.
  [[nodiscard]] bool scores_vocabulary() const {
    return std::ranges::any_of(model_.outputs, [&](const ModelValue& output) {
      if (output.shape.size() != 3) return false;
      const std::int64_t scores = output.shape[2];
      return (scores >= kFewestTokens && has_word(output.name, {"logits"})) ||
             std::ranges::any_of(model_.inputs, [&](const ModelValue& input) {
               return role_of(input) == InputRole::kIds && input.index_limit == scores;
             });
    });
  }

  // Scores with so many axes, and how many of them belong together is fixed: one for each class.
  [[nodiscard]] bool scores(std::size_t rank, std::int64_t fewest = 1) const {
    return std::ranges::any_of(model_.outputs, [&](const ModelValue& output) {
      const Shape shape = without_sides_of_one(output.shape);
      if (shape.size() != rank || shape[rank == kImageRank ? 1 : rank - 1] < fewest) return false;
      return has_word(output.name, {"logits", "prob", "softmax"}) ||
             is_one_of(output.made_by, {"Softmax", "LogSoftmax"});
    });
  }

  [[nodiscard]] bool gives_rank(std::size_t rank) const {
    return std::ranges::any_of(model_.outputs, [&](const auto& output) { return output.shape.size() == rank; });
  }

  // One score for each class of ImageNet, whatever it is called.
  [[nodiscard]] bool scores_imagenet() const {
    return std::ranges::any_of(model_.outputs, [](const ModelValue& output) {
      const Shape shape = without_sides_of_one(output.shape);
      return shape.size() == 2 && (shape[1] == kImageNetClasses || shape[1] == kImageNetClasses + 1);
    });
  }

 private:
  // [N, 1000, 1, 1] is [N, 1000].
  static Shape without_sides_of_one(Shape shape) {
    if (shape.size() == kImageRank && shape[2] == 1 && shape[3] == 1) shape.resize(2);
    return shape;
  }
  static bool is_colours(std::int64_t extent) { return extent <= kMostColours; }  // -1: dynamic
  static bool any(const std::vector<ModelValue>& values, Words words) {
    return std::ranges::any_of(values, [&](const ModelValue& value) { return has_word(value.name, words); });
  }

  const ModelInfo& model_;
};

const std::string kNothing{kUnknownClass};

Classification of_text(const Graph& graph) {
  const bool scores = graph.scores_vocabulary();
  const bool hidden = graph.output_has({"hidden", "embed", "pooler"});
  if (graph.output_has({"waveform"})) return {"audio", "audio", "text-to-audio"};
  if (graph.input_has({"decoder_input_ids"})) {
    const bool generates = scores || graph.keeps_states();
    return {"text_generation", "encoder_decoders",
            generates ? "text2text-generation"
            : hidden  ? "feature-extraction"
                      : kNothing};
  }
  if (graph.input_has({"encoder_hidden_states"})) return {};  // of a text, an image or sound?
  if (graph.keeps_states()) return {"text_generation", "text_decoders", "text-generation"};
  const bool causal = graph.has_operator({"Trilu", "GroupQueryAttention"});
  if (scores && graph.input_has({"token_type", "segment"})) return {"embedding", "text_encoders", "fill-mask"};
  if (scores) return causal ? Classification{"text_generation", "text_decoders", "text-generation"} : Classification{};
  // CLIP's text tower looks back only, too, but gives one vector for the text.
  if (hidden && causal && !graph.gives_rank(2)) return {"text_generation", "text_decoders", "feature-extraction"};
  Classification encoder{"embedding", "text_encoders"};
  if (graph.input_has({"bbox"})) encoder.category = "multimodal";  // the places of the words on a page
  if (graph.output_has({"start"}) && graph.output_has({"end"}))
    encoder.task = "question-answering";
  else if (graph.scores(2))
    encoder.task = "text-classification";
  else if (graph.scores(3))
    encoder.task = "token-classification";
  else if (hidden)
    encoder.task = "feature-extraction";
  else if (!graph.gives_rank(2))
    return {};
  return encoder;
}

std::string task_of_image(const Graph& graph) {
  if (graph.has_operator({"NonMaxSuppression"}) || graph.output_has({"boxes"})) return "object-detection";
  if (graph.output_has({"depth"})) return "depth-estimation";
  if (graph.scores_imagenet() || graph.scores(2)) return "image-classification";
  if (graph.output_has({"hidden", "embed", "pooler", "feature"})) return "image-feature-extraction";
  if (graph.scores(kImageRank)) return "image-segmentation";
  return kNothing;
}

Classification of_image(const Graph& graph, bool tokens) {
  if (graph.input_has({"timestep"})) {
    if (graph.input_has({"encoder_hidden_states"})) return {"multimodal", "diffusion", "text-to-image"};
    return {"vision", "diffusion", "unconditional-image-generation"};
  }
  if (!tokens) return {"vision", "vision", task_of_image(graph)};
  Classification both{"multimodal", "vision_language"};
  if (graph.output_has({"boxes"}))
    both.task = "zero-shot-object-detection";
  else if (graph.output_has({"per_image", "image_embeds"}))
    both.task = "zero-shot-image-classification";
  else if (graph.scores_vocabulary() || graph.keeps_states())
    both.task = "image-text-to-text";
  return both;
}

// Images in a row are a video's, or one image's tiles.
Classification of_video(const Graph& graph, bool tokens) {
  if (tokens && graph.output_has({"per_video", "video_embeds"})) return {"multimodal", "video", "video-classification"};
  if (tokens) return {"multimodal"};
  return {"vision", "video", graph.scores(2) ? "video-classification" : kNothing};
}

Classification of_sound(const Graph& graph, bool tokens) {
  const bool writes = graph.scores_vocabulary() || graph.keeps_states();
  if (tokens && graph.output_has({"per_audio", "audio_embeds"}))
    return {"multimodal", "audio", "zero-shot-audio-classification"};
  if (tokens) {
    const bool speech = graph.input_has({"decoder_input_ids"});
    return {"audio", "speech_text",
            !writes  ? kNothing
            : speech ? "automatic-speech-recognition"
                     : "audio-text-to-text"};
  }
  Classification sound{"audio", "audio"};
  if (graph.scores(2))
    sound.task = "audio-classification";
  else if (graph.scores(3, kFewestCharacters))
    sound.task = "automatic-speech-recognition";
  else if (graph.output_has({"hidden"}))
    sound.task = "feature-extraction";
  return sound;
}

// The word if it is in the list: metadata may contain anything.
std::string listed(const std::string& word, const std::vector<std::string>& list) {
  return std::ranges::find(list, word) != list.end() ? word : kNothing;
}

}  // namespace

const std::vector<std::string>& model_families() { return family_words(); }

const std::vector<std::string>& model_categories() {
  static const std::vector<std::string> all{"text_encoders", "text_decoders",   "encoder_decoders", "vision",
                                            "audio",         "vision_language", "multimodal",       "video",
                                            "speech_text",   "diffusion"};
  return all;
}

const std::vector<std::string>& model_tasks() {
  static const std::vector<std::string> all{
      // Text
      "feature-extraction", "fill-mask", "next-sentence-prediction", "question-answering", "replaced-token-detection",
      "text-classification", "text-generation", "text2text-generation", "token-classification",
      // Images and videos
      "depth-estimation", "image-classification", "image-feature-extraction", "image-segmentation", "object-detection",
      "text-to-image", "unconditional-image-generation", "video-classification",
      // Sound
      "audio-classification", "audio-frame-classification", "audio-to-audio", "automatic-speech-recognition",
      "text-to-audio",
      // Several of them
      "audio-text-to-text", "document-question-answering", "image-text-to-text", "zero-shot-audio-classification",
      "zero-shot-image-classification", "zero-shot-object-detection"};
  return all;
}

Classification classify_graph(const ModelInfo& model) {
  const Graph graph(model);
  const bool tokens = graph.takes_tokens(), images = graph.takes_images(), videos = graph.takes_videos();
  const bool sound = graph.takes_sound();
  if (sound && (images || videos)) return {"multimodal", "multimodal"};
  if (images) return of_image(graph, tokens);
  if (videos) return of_video(graph, tokens);
  if (sound) return of_sound(graph, tokens);
  return tokens ? of_text(graph) : Classification{};
}

Classification classify(const ModelInfo& model) {
  if (model.metadata_family.empty()) return classify_graph(model);
  return {listed(model.metadata_family, model_families()), listed(model.metadata_category, model_categories()),
          listed(model.metadata_task, model_tasks()), "configuration"};
}

}  // namespace assay
