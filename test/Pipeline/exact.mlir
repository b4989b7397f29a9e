// Contractions and reductions of awkward sizes against plain loops (Inputs/reference.py). All numbers
// are whole and small, so that sums are exact in any order: nothing may differ.

// RUN: rm -rf %t && mkdir %t
// RUN: gantry compile %s -o %t/plan.gantry
// RUN: gantry compile %s --no-fuse -o %t/apart.gantry
// RUN: gantry compile %s --target-cpu x86-64-v3 -o %t/v3.gantry

// Sizes that no register and no block divides.
// RUN: %python %S/Inputs/reference.py columns %t/columns
// RUN: gantry run %t/plan.gantry --function columns --input a=%t/columns/a.npy --input b=%t/columns/b.npy --expect y=%t/columns/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/apart.gantry --function columns --input a=%t/columns/a.npy --input b=%t/columns/b.npy --expect y=%t/columns/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function columns --input a=%t/columns/a.npy --input b=%t/columns/b.npy --expect y=%t/columns/y.npy --rtol 0 --atol 0
func.func @columns(%a: tensor<7x17xf32> {gantry.name = "a"}, %b: tensor<17x37xf32> {gantry.name = "b"}) -> (tensor<7x37xf32> {gantry.name = "y"}) {
  %y = gantry.matmul %a, %b : (tensor<7x17xf32>, tensor<17x37xf32>) -> tensor<7x37xf32>
  return %y : tensor<7x37xf32>
}

// A result narrower than a register.
// RUN: %python %S/Inputs/reference.py thin %t/thin
// RUN: gantry run %t/plan.gantry --function thin --input a=%t/thin/a.npy --input b=%t/thin/b.npy --expect y=%t/thin/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function thin --input a=%t/thin/a.npy --input b=%t/thin/b.npy --expect y=%t/thin/y.npy --rtol 0 --atol 0
func.func @thin(%a: tensor<5x3xf32> {gantry.name = "a"}, %b: tensor<3x2xf32> {gantry.name = "b"}) -> (tensor<5x2xf32> {gantry.name = "y"}) {
  %y = gantry.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  return %y : tensor<5x2xf32>
}

// One row.
// RUN: %python %S/Inputs/reference.py vector %t/vector
// RUN: gantry run %t/plan.gantry --function vector --input a=%t/vector/a.npy --input b=%t/vector/b.npy --expect y=%t/vector/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function vector --input a=%t/vector/a.npy --input b=%t/vector/b.npy --expect y=%t/vector/y.npy --rtol 0 --atol 0
func.func @vector(%a: tensor<1x129xf32> {gantry.name = "a"}, %b: tensor<129x67xf32> {gantry.name = "b"}) -> (tensor<1x67xf32> {gantry.name = "y"}) {
  %y = gantry.matmul %a, %b : (tensor<1x129xf32>, tensor<129x67xf32>) -> tensor<1x67xf32>
  return %y : tensor<1x67xf32>
}

// Sums along the contiguous dimension, with a rest.
// RUN: %python %S/Inputs/reference.py dots %t/dots
// RUN: gantry run %t/plan.gantry --function dots --input a=%t/dots/a.npy --input b=%t/dots/b.npy --expect y=%t/dots/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/apart.gantry --function dots --input a=%t/dots/a.npy --input b=%t/dots/b.npy --expect y=%t/dots/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function dots --input a=%t/dots/a.npy --input b=%t/dots/b.npy --expect y=%t/dots/y.npy --rtol 0 --atol 0
func.func @dots(%a: tensor<6x67xf32> {gantry.name = "a"}, %b: tensor<9x67xf32> {gantry.name = "b"}) -> (tensor<6x9xf32> {gantry.name = "y"}) {
  %y = gantry.matmul %a, %b {transpose_b} : (tensor<6x67xf32>, tensor<9x67xf32>) -> tensor<6x9xf32>
  return %y : tensor<6x9xf32>
}

// Several work items.
// RUN: %python %S/Inputs/reference.py items %t/items
// RUN: gantry run %t/plan.gantry --function items --input a=%t/items/a.npy --input b=%t/items/b.npy --expect y=%t/items/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function items --input a=%t/items/a.npy --input b=%t/items/b.npy --expect y=%t/items/y.npy --rtol 0 --atol 0
func.func @items(%a: tensor<97x32xf32> {gantry.name = "a"}, %b: tensor<32x80xf32> {gantry.name = "b"}) -> (tensor<97x80xf32> {gantry.name = "y"}) {
  %y = gantry.matmul %a, %b : (tensor<97x32xf32>, tensor<32x80xf32>) -> tensor<97x80xf32>
  return %y : tensor<97x80xf32>
}

// Bias and activation in the same kernel.
// RUN: %python %S/Inputs/reference.py epilogue %t/epilogue
// RUN: gantry run %t/plan.gantry --function epilogue --input a=%t/epilogue/a.npy --input b=%t/epilogue/b.npy --input bias=%t/epilogue/bias.npy --expect y=%t/epilogue/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/apart.gantry --function epilogue --input a=%t/epilogue/a.npy --input b=%t/epilogue/b.npy --input bias=%t/epilogue/bias.npy --expect y=%t/epilogue/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function epilogue --input a=%t/epilogue/a.npy --input b=%t/epilogue/b.npy --input bias=%t/epilogue/bias.npy --expect y=%t/epilogue/y.npy --rtol 0 --atol 0
func.func @epilogue(%a: tensor<13x24xf32> {gantry.name = "a"}, %b: tensor<24x45xf32> {gantry.name = "b"}, %bias: tensor<45xf32> {gantry.name = "bias"}) -> (tensor<13x45xf32> {gantry.name = "y"}) {
  %0 = gantry.matmul %a, %b : (tensor<13x24xf32>, tensor<24x45xf32>) -> tensor<13x45xf32>
  %1 = gantry.add %0, %bias : (tensor<13x45xf32>, tensor<45xf32>) -> tensor<13x45xf32>
  %y = gantry.relu %1 : (tensor<13x45xf32>) -> tensor<13x45xf32>
  return %y : tensor<13x45xf32>
}

// A border, odd sizes.
// RUN: %python %S/Inputs/reference.py conv %t/conv
// RUN: gantry run %t/plan.gantry --function conv --input x=%t/conv/x.npy --input w=%t/conv/w.npy --expect y=%t/conv/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/apart.gantry --function conv --input x=%t/conv/x.npy --input w=%t/conv/w.npy --expect y=%t/conv/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function conv --input x=%t/conv/x.npy --input w=%t/conv/w.npy --expect y=%t/conv/y.npy --rtol 0 --atol 0
func.func @conv(%x: tensor<1x3x9x11xf32> {gantry.name = "x"}, %w: tensor<5x3x3x3xf32> {gantry.name = "w"}) -> (tensor<1x5x9x11xf32> {gantry.name = "y"}) {
  %y = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x9x11xf32>, tensor<5x3x3x3xf32>) -> tensor<1x5x9x11xf32>
  return %y : tensor<1x5x9x11xf32>
}

// Steps of two.
// RUN: %python %S/Inputs/reference.py strided %t/strided
// RUN: gantry run %t/plan.gantry --function strided --input x=%t/strided/x.npy --input w=%t/strided/w.npy --expect y=%t/strided/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function strided --input x=%t/strided/x.npy --input w=%t/strided/w.npy --expect y=%t/strided/y.npy --rtol 0 --atol 0
func.func @strided(%x: tensor<1x4x13x10xf32> {gantry.name = "x"}, %w: tensor<6x4x3x3xf32> {gantry.name = "w"}) -> (tensor<1x6x7x5xf32> {gantry.name = "y"}) {
  %y = gantry.conv %x, %w {strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x13x10xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x5xf32>
  return %y : tensor<1x6x7x5xf32>
}

// A window of one pixel.
// RUN: %python %S/Inputs/reference.py pointwise %t/pointwise
// RUN: gantry run %t/plan.gantry --function pointwise --input x=%t/pointwise/x.npy --input w=%t/pointwise/w.npy --expect y=%t/pointwise/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function pointwise --input x=%t/pointwise/x.npy --input w=%t/pointwise/w.npy --expect y=%t/pointwise/y.npy --rtol 0 --atol 0
func.func @pointwise(%x: tensor<1x5x6x7xf32> {gantry.name = "x"}, %w: tensor<9x5x1x1xf32> {gantry.name = "w"}) -> (tensor<1x9x6x7xf32> {gantry.name = "y"}) {
  %y = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x5x6x7xf32>, tensor<9x5x1x1xf32>) -> tensor<1x9x6x7xf32>
  return %y : tensor<1x9x6x7xf32>
}

// Along rows.
// RUN: %python %S/Inputs/reference.py row_sum %t/row_sum
// RUN: gantry run %t/plan.gantry --function row_sum --input x=%t/row_sum/x.npy --expect y=%t/row_sum/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function row_sum --input x=%t/row_sum/x.npy --expect y=%t/row_sum/y.npy --rtol 0 --atol 0
func.func @row_sum(%x: tensor<11x131xf32> {gantry.name = "x"}) -> (tensor<11xf32> {gantry.name = "y"}) {
  %y = gantry.reduce_sum %x {axes = array<i64: 1>} : (tensor<11x131xf32>) -> tensor<11xf32>
  return %y : tensor<11xf32>
}

// Across rows.
// RUN: %python %S/Inputs/reference.py column_max %t/column_max
// RUN: gantry run %t/plan.gantry --function column_max --input x=%t/column_max/x.npy --expect y=%t/column_max/y.npy --rtol 0 --atol 0
// RUN: gantry run %t/v3.gantry --function column_max --input x=%t/column_max/x.npy --expect y=%t/column_max/y.npy --rtol 0 --atol 0
func.func @column_max(%x: tensor<29x43xf32> {gantry.name = "x"}) -> (tensor<43xf32> {gantry.name = "y"}) {
  %y = gantry.reduce_max %x {axes = array<i64: 0>} : (tensor<29x43xf32>) -> tensor<43xf32>
  return %y : tensor<43xf32>
}
