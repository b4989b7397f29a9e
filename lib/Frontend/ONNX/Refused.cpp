// Ops that are known and not supported, with the reason, so that the message can say more than
// that.

#include "Handlers.h"

using namespace gantry;
using namespace gantry::onnx;

/// Of ONNX Runtime, with what to do instead.
static void refuseMicrosoftOps(OpTable &table) {
  for (llvm::StringRef op : {"BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"})
    table.refuse(op,
                 "it is a loop that ends when data says so; export the decoder alone and search "
                 "around it",
                 kMicrosoft);
  for (llvm::StringRef op : {"DecoderMaskedSelfAttention", "PagedAttention", "SparseAttention"})
    table.refuse(op,
                 "its cache is filled in place; export with a past that grows, or with "
                 "GroupQueryAttention",
                 kMicrosoft);
  for (llvm::StringRef op :
       {"PackedAttention", "PackedMultiHeadAttention", "RemovePadding", "RestorePadding"})
    table.refuse(op, "the shape of its output depends on data, and shapes are fixed when compiling",
                 kMicrosoft);
  for (llvm::StringRef op : {"Tokenizer", "WordConvEmbedding"})
    table.refuse(op, "texts are not tensors of numbers; prepare them before", kMicrosoft);
  for (llvm::StringRef op : {"EPContext", "Snpe"})
    table.refuse(op,
                 "it holds code for one device of another program; use the model it was made of",
                 kMicrosoft);
  table.refuse("DynamicQuantizeLSTM",
               "its state is quantised anew in each step, and no kernel does that; leave LSTM out "
               "when quantising",
               kMicrosoft);
  for (llvm::StringRef op : {"MoE", "QMoE"})
    table.refuse(op, "no kernel chooses experts by data; export them as ops of ai.onnx",
                 kMicrosoft);
  // Blocked layouts of the machine that the model was saved on.
  for (llvm::StringRef op : {"Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool",
                             "ReorderInput", "ReorderOutput", "Upsample"})
    table.refuse(op,
                 "its layout is of the machine that saved the model; save it with the optimisation "
                 "level extended or a lower one",
                 "com.microsoft.nchwc");
}

void gantry::onnx::addRefusedOps(OpTable &table) {
  for (llvm::StringRef op :
       {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
        "SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence"})
    table.refuse(op, "values are tensors, not sequences");
  for (llvm::StringRef op : {"Optional", "OptionalGetElement", "OptionalHasElement"})
    table.refuse(op, "values are tensors, not optional ones");
  for (llvm::StringRef op : {
           "StringNormalizer",
           "StringConcat",
           "StringSplit",
           "RegexFullMatch",
       })
    table.refuse(op, "strings are not tensors of numbers");
  table.refuse("ImageDecoder", "images of files are not tensors of numbers; decode them before");
  table.refuse("DeformConv", "no kernel samples at computed places inside a convolution");
  table.refuse("Multinomial", "no kernel draws from a given distribution");
  table.refuse("TfIdfVectorizer", "it counts words of texts, and no kernel does that");
  refuseMicrosoftOps(table);
}
