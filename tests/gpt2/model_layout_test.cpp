#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gpt2/common/errors.h"
#include "gpt2/model/config.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/model/parameters.h"

namespace ridgeline::gpt2 {
namespace {

TEST(Configuration, ParameterCountsAreGpt2s) {
  // Published sizes (124,439,808 and so on) plus the padding of the vocabulary by 47 rows.
  const auto total = [](const char* name) { return ParameterLayout(model_config(name)).total(); };
  EXPECT_EQ(total("124M"), 124439808 + 47 * 768);
  EXPECT_EQ(total("355M"), 354823168 + 47 * 1024);
  EXPECT_EQ(total("774M"), 774030080 + 47 * 1280);
  EXPECT_EQ(total("1558M"), 1557611200 + 47 * 1600);
}

TEST(Configuration, EveryNamedModelIsValid) {
  for (const std::string& name : model_names()) {
    const ModelConfig config = model_config(name);
    EXPECT_NO_THROW(validate(config)) << name;
    EXPECT_EQ(config.padded_vocab, pad_vocab(config.vocab)) << name;
  }
}

TEST(Configuration, AnUnknownModelNamesTheKnownOnes) {
  try {
    model_config("125M");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("124M"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Configuration, ContradictorySizesAreRefused) {
  const ModelConfig good = model_config("tiny");
  ModelConfig bad = good;
  bad.heads = 3;
  EXPECT_THROW(validate(bad), InputError);
  bad = good;
  bad.padded_vocab = bad.vocab - 1;
  EXPECT_THROW(validate(bad), InputError);
  bad = good;
  bad.vocab = 65537;
  bad.padded_vocab = pad_vocab(65537);
  EXPECT_THROW(validate(bad), InputError);
  bad = good;
  bad.layers = 0;
  EXPECT_THROW(validate(bad), InputError);
  bad = good;
  bad.padded_vocab = bad.vocab + 1;
  EXPECT_THROW(validate(bad), InputError);
}

TEST(Configuration, AVocabularyWithoutPaddingIsValid) {
  ModelConfig plain = model_config("124M");
  plain.padded_vocab = plain.vocab;
  EXPECT_NO_THROW(validate(plain));
  const ParameterLayout layout(plain);
  EXPECT_EQ(layout.total(), 124439808);
  // Rows of C keep every tensor aligned to 16 bytes in bf16, whatever the vocabulary.
  for (int t = 0; t < kTensorCount; ++t) EXPECT_EQ(layout.offset(static_cast<Tensor>(t)) % 8, 0);
}

TEST(Flops, OneTokenOf124M) {
  // 6 * 124,475,904 + 6 * 12 * 768 * 1024
  EXPECT_DOUBLE_EQ(flops_per_token(model_config("124M"), 1024), 803478528.0);
}

TEST(Layout, TensorsFillTheBufferInOrderAndLayersFollowEachOther) {
  const ModelConfig config = model_config("1558M");
  const ParameterLayout layout(config);
  std::int64_t at = 0;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    EXPECT_EQ(layout.offset(tensor), at) << tensor_name(tensor);
    EXPECT_EQ(layout.offset(tensor) % 8, 0) << tensor_name(tensor);
    at += layout.count(tensor);
  }
  EXPECT_EQ(at, layout.total());
  const std::int64_t c = config.channels;
  EXPECT_EQ(layout.offset(Tensor::fcw, 47), layout.offset(Tensor::fcw) + 47 * 4 * c * c);
  EXPECT_EQ(layout.offset(Tensor::fcw, 47) + 4 * c * c, layout.offset(Tensor::fcb));
}

TEST(Layout, InstancesAreAFrameworksTensors) {
  const ModelConfig config = model_config("124M");
  const ParameterLayout layout(config);
  const std::vector<TensorInstance> all = layout.instances();
  EXPECT_EQ(all.size(), 148U);  // what GPT2LMHeadModel has parameters
  std::int64_t at = 0;
  for (const TensorInstance& instance : all) {
    EXPECT_EQ(instance.begin, at) << tensor_name(instance.tensor);
    EXPECT_GT(instance.end, instance.begin) << tensor_name(instance.tensor);
    at = instance.end;
  }
  EXPECT_EQ(at, layout.total());
  // wte, wpe, 12 of ln1w, 12 of ln1b, then qkvw.
  EXPECT_EQ(all[26].tensor, Tensor::qkvw);
  EXPECT_EQ(all[27].begin, layout.offset(Tensor::qkvw, 1));
  EXPECT_EQ(all.back().tensor, Tensor::lnfb);
}

TEST(DeviceLayout, ALayersMatricesLieTogetherAndSoDoItsVectors) {
  for (const char* name : {"tiny", "124M", "1558M"}) {
    const ModelConfig config = model_config(name);
    const DeviceLayout layout(config);
    const std::int64_t c = config.channels;
    EXPECT_EQ(layout.total(), ParameterLayout(config).total());
    EXPECT_EQ(layout.offset(Tensor::wte), 0);
    EXPECT_EQ(layout.stride(Tensor::qkvw), 12 * c * c);
    EXPECT_EQ(layout.stride(Tensor::fcb), 13 * c);
    const std::vector<TensorInstance> all = layout.instances();
    ASSERT_EQ(all.size(), static_cast<std::size_t>(4 + 12 * config.layers));
    std::int64_t at = 0;
    for (const TensorInstance& instance : all) {
      EXPECT_EQ(instance.begin, at) << tensor_name(instance.tensor);
      EXPECT_EQ(instance.begin % 8, 0) << tensor_name(instance.tensor);
      // What decays is in front of vectors_start(), embeddings first, and nothing else is.
      EXPECT_EQ(tensor_is_matrix(instance.tensor), instance.begin < layout.vectors_start());
      EXPECT_EQ(instance.tensor == Tensor::wte || instance.tensor == Tensor::wpe,
                instance.begin < layout.embeddings_end());
      at = instance.end;
    }
    EXPECT_EQ(at, layout.total());
    const int last = config.layers - 1;
    EXPECT_EQ(layout.offset(Tensor::fcprojw, last) + 4 * c * c, layout.vectors_start());
    EXPECT_EQ(layout.offset(Tensor::qkvw, last) - layout.offset(Tensor::qkvw), last * 12 * c * c);
  }
}

// Every element of a file has one place on the device, and its tensor and layer there.
TEST(DeviceLayout, PiecesAreAPermutationOfTheFile) {
  const ModelConfig config = model_config("tiny");
  const DeviceLayout layout(config);
  const ParameterLayout file(config);
  std::vector<int> met(static_cast<std::size_t>(layout.total()), 0);
  std::int64_t at = 0;
  for (const DeviceLayout::Piece& piece : layout.pieces()) {
    EXPECT_EQ(piece.file, at);
    at += piece.count;
    for (std::int64_t i = 0; i < piece.count; ++i) ++met[static_cast<std::size_t>(piece.device + i)];
  }
  EXPECT_EQ(at, layout.total());
  for (const int count : met) ASSERT_EQ(count, 1);
  const auto device_place = [&](std::int64_t of_file) {
    for (const DeviceLayout::Piece& piece : layout.pieces()) {
      if (of_file >= piece.file && of_file < piece.file + piece.count)
        return piece.device + of_file - piece.file;
    }
    return std::int64_t{-1};
  };
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    for (int layer = 0; layer < (layout.stride(tensor) > 0 ? config.layers : 1); ++layer) {
      EXPECT_EQ(device_place(file.offset(tensor, layer) + 5), layout.offset(tensor, layer) + 5)
          << tensor_name(tensor);
    }
  }
}

TEST(Repadding, DropsAndAddsRowsOfTheEmbeddingAndMovesTheRest) {
  const ModelConfig padded = model_config("tiny");
  ModelConfig plain = padded;
  plain.padded_vocab = plain.vocab;
  // The initialisation depends on the element alone, so that both paddings start from the same model.
  EXPECT_EQ(repad_vocabulary(random_parameters(padded, 3), padded, plain), random_parameters(plain, 3));
  EXPECT_EQ(repad_vocabulary(random_parameters(plain, 3), plain, padded), random_parameters(padded, 3));
  EXPECT_EQ(repad_vocabulary(random_parameters(plain, 3), plain, plain), random_parameters(plain, 3));

  // Rows that the padding holds are not carried into a smaller one and back.
  std::vector<float> values(static_cast<std::size_t>(ParameterLayout(padded).total()), 1.0f);
  const std::vector<float> back = repad_vocabulary(repad_vocabulary(values, padded, plain), plain, padded);
  const std::int64_t words = std::int64_t{padded.vocab} * padded.channels;
  const std::int64_t rows = std::int64_t{padded.padded_vocab} * padded.channels;
  for (std::int64_t i = words; i < rows; ++i) values[static_cast<std::size_t>(i)] = 0.0f;
  EXPECT_EQ(back, values);
}

TEST(Repadding, RefusesAnotherModel) {
  const ModelConfig config = model_config("tiny");
  ModelConfig other = config;
  other.layers = 3;
  const std::vector<float> values = random_parameters(config, 3);
  EXPECT_THROW(repad_vocabulary(values, config, other), std::invalid_argument);
  EXPECT_THROW(repad_vocabulary(values, other, other), std::invalid_argument);
}

TEST(Initialisation, FollowsGpt2) {
  ModelConfig config = model_config("tiny");
  config.layers = 8;
  const ParameterLayout layout(config);
  const std::vector<float> p = random_parameters(config, 7);
  const auto moments = [&](std::int64_t begin, std::int64_t count) {
    double sum = 0, square = 0;
    for (std::int64_t i = begin; i < begin + count; ++i) {
      sum += p[static_cast<std::size_t>(i)];
      square += static_cast<double>(p[static_cast<std::size_t>(i)]) * p[static_cast<std::size_t>(i)];
    }
    const double n = static_cast<double>(count);
    return std::pair(sum / n, std::sqrt(square / n));
  };
  for (Tensor tensor : {Tensor::wpe, Tensor::qkvw, Tensor::fcw}) {
    const auto [mean, deviation] = moments(layout.offset(tensor), layout.count(tensor));
    EXPECT_NEAR(mean, 0.0, 4e-4) << tensor_name(tensor);
    EXPECT_NEAR(deviation, 0.02, 4e-4) << tensor_name(tensor);
  }
  for (Tensor tensor : {Tensor::attprojw, Tensor::fcprojw}) {
    EXPECT_NEAR(moments(layout.offset(tensor), layout.count(tensor)).second, 0.02 / 4, 1e-4)
        << tensor_name(tensor);
  }
  const std::int64_t words = static_cast<std::int64_t>(config.vocab) * config.channels;
  EXPECT_NEAR(moments(0, words).second, 0.02, 4e-4);
  for (std::int64_t i = words; i < layout.count(Tensor::wte); ++i)
    ASSERT_EQ(p[static_cast<std::size_t>(i)], 0.0f);
  for (Tensor tensor : {Tensor::qkvb, Tensor::ln1b, Tensor::lnfb}) {
    EXPECT_EQ(moments(layout.offset(tensor), layout.count(tensor)).second, 0.0) << tensor_name(tensor);
  }
  EXPECT_EQ(moments(layout.offset(Tensor::lnfw), layout.count(Tensor::lnfw)), std::pair(1.0, 1.0));
  EXPECT_EQ(p, random_parameters(config, 7));
  EXPECT_NE(p, random_parameters(config, 8));
}

}  // namespace
}  // namespace ridgeline::gpt2
