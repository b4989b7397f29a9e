// Ops that are known and not supported, with the reason, so that the message can say more than
// that.

#include "Handlers.h"

using namespace gantry;
using namespace gantry::onnx;

void gantry::onnx::addRefusedOps(OpTable &table) {
  for (llvm::StringRef op : {"NonZero", "NonMaxSuppression", "Unique", "Compress"})
    table.refuse(op,
                 "the shape of its output depends on data, and shapes are fixed when compiling");
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
  table.refuse("Gradient", "gradients are not computed yet", "ai.onnx.preview.training");
}
