// Strides, pads and dilations of convolutions and pools, and what several families build of them.
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

struct Window {
  Ints strides, low, high, dilations;
};

/// Reads strides, pads, dilations, kernel_shape and auto_pad for an input of these spatial sizes.
/// `kernel` are the window's extents. Fails on wrong lengths and ranges. Transposed, pads of
/// auto_pad are left 0, because they follow from the output there.
std::optional<Window> readWindow(NodeContext &n, IntsRef spatial, IntsRef kernel,
                                 bool transposed = false);

Value buildMatmul(NodeContext &n, Value a, Value b);
/// Convolution with the node's attributes.
Value buildConv(NodeContext &n, Value x, Value w);
/// The node's product of matrices, with its attributes and bias.
Values buildGemm(NodeContext &n);
/// Max pooling with the node's attributes, and the places of the maxima if they are asked for.
Values buildMaxPool(NodeContext &n, Value x);
/// Average pooling with the node's attributes.
Value buildAveragePool(NodeContext &n, Value x);
/// Adds a bias of shape [c] to [n, c, ...]; null `bias` adds nothing.
Value addChannelBias(NodeContext &n, Value y, Value bias);
/// Batch, height, width, channels as the ops of ai.onnx have them, or back.
Value moveChannels(NodeContext &n, Value v, bool toFront);

} // namespace gantry::onnx
