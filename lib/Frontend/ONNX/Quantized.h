// What the quantised ops of ai.onnx and of com.microsoft are composed of.
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

/// A scale or zero point of one element stands for all, else there is one along `axis`.
Value alongAxis(NodeContext &n, Value v, int64_t axis, int64_t rank);

/// round(x) + zero point, cut to the range of `element`. `x` is in units of the scale.
Value saturate(NodeContext &n, Value x, Value zeroPoint, mlir::Type element);

/// Whether quantised values of this type are supported; 8, 16 and 32 bits are.
bool checkQuantized(NodeContext &n, mlir::Type element);

/// An operand in i32 with its zero point taken off; `axis` is that of per-axis zero points.
Value centred(NodeContext &n, Value v, Value zero, int64_t axis);

/// The product in i32 of operands with their zero points, per row of `a` and per column of `b`.
Value integerMatmul(NodeContext &n, Value a, Value aZero, Value b, Value bZero);

/// `x` in 8 bits without sign, the scale and the zero point that its range asks for.
struct DynamicallyQuantized {
  Value values, scale, zeroPoint;
};
DynamicallyQuantized quantizeDynamically(NodeContext &n, Value x);

/// Convolution of quantised operands; operands and attributes are the node's, `x` is operand 0 with
/// its channels in dimension 1.
Value buildQuantizedConv(NodeContext &n, Value x);

} // namespace gantry::onnx
