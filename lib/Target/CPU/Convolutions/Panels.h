// How filters are packed for the kernels of this room.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Lanes of a vector register and registers of a panel that the kernels are made for.
inline constexpr int64_t kPanelLanes = 16, kPanelRegisters = 4;

/// The width of panels for so many columns of so many terms, of four bytes each.
int64_t panelOfColumns(int64_t columns, int64_t sizeK);

/// The part of a register tile's rate that a panel of so many columns reaches, cut into bands or
/// not.
double rateOfPanel(int64_t columns);

/// The width of the panels in which the filter of a convolution is packed, by its shape alone; 0
/// for a convolution that has no kernel with the channels last.
int64_t panelOfFilter(ConvOp conv);
int64_t panelOfFilter(ConvTransposeOp op);

} // namespace gantry
