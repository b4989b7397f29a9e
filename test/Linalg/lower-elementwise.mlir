// Elementwise ops: broadcasting is in the maps, signs choose the scalar ops, nothing traps.

// RUN: gantry-opt --gantry-lower-kernels-to-linalg -canonicalize %s | FileCheck %s

// An argument's stretched dimension is dropped from its map, so that reshapes can move through.
// CHECK-DAG:   #[[$FULL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$FIRST:.*]] = affine_map<(d0, d1, d2) -> (d0)>
// CHECK-LABEL: func.func private @broadcast(
// CHECK-SAME:    %[[X:.*]]: tensor<2x3x4xf32>, %[[B:.*]]: tensor<2x1x1xf32>
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape %[[B]]
// CHECK:         linalg.generic {indexing_maps = [#[[$FULL]], #[[$FIRST]], #[[$FULL]]]
// CHECK-SAME:      ins(%[[X]], %[[FLAT]]
// CHECK:           arith.addf %{{.*}}, %{{.*}} : f32
gantry.kernel @broadcast {
^bb0(%x: tensor<2x3x4xf32>, %b: tensor<2x1x1xf32>):
  %0 = gantry.add %x, %b : (tensor<2x3x4xf32>, tensor<2x1x1xf32>) -> tensor<2x3x4xf32>
  gantry.yield %0 : tensor<2x3x4xf32>
}

// A kept dimension of a reduction is read through, so that both stay in one loop nest.
// CHECK-LABEL: func.func private @read_through_kept_dimension(
// CHECK:         %[[MAX:.*]] = linalg.generic
// CHECK-SAME:      iterator_types = ["parallel", "reduction"]
// CHECK-NOT:     tensor.expand_shape
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %[[MAX]] : tensor<3x4xf32>, tensor<3xf32>)
gantry.kernel @read_through_kept_dimension {
^bb0(%x: tensor<3x4xf32>):
  %0 = gantry.reduce_max %x {axes = array<i64: 1>, keep_dims} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %1 = gantry.sub %x, %0 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  gantry.yield %1 : tensor<3x4xf32>
}

// f16 is computed in f32.
// CHECK-LABEL: func.func private @half(
// CHECK:         %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK:         %[[EXP:.*]] = math.exp %[[WIDE]] : f32
// CHECK:         arith.truncf %[[EXP]] {{.*}} f32 to f16
gantry.kernel @half {
^bb0(%x: tensor<4xf16>):
  %0 = gantry.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  gantry.yield %0 : tensor<4xf16>
}

// NaN stays NaN: it is not below 0.
// CHECK-LABEL: func.func private @relu(
// CHECK:         %[[BELOW:.*]] = arith.cmpf olt, %[[X:.*]], %[[ZERO:.*]] : f32
// CHECK:         arith.select %[[BELOW]], %[[ZERO]], %[[X]] : f32
gantry.kernel @relu {
^bb0(%x: tensor<4xf32>):
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  gantry.yield %0 : tensor<4xf32>
}

// The divisor is replaced before the division where the machine would trap.
// CHECK-LABEL: func.func private @signed_division(
// CHECK:         %[[SAFE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[B:.*]] : i32
// CHECK:         arith.divsi %{{.*}}, %[[SAFE]] : i32
gantry.kernel @signed_division {
^bb0(%a: tensor<4xi32>, %b: tensor<4xi32>):
  %0 = gantry.div %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  gantry.yield %0 : tensor<4xi32>
}

// CHECK-LABEL: func.func private @unsigned_ops(
// CHECK:         arith.divui
// CHECK:         arith.cmpi ult
// CHECK:         arith.maxui
// CHECK:         arith.shrui
gantry.kernel @unsigned_ops {
^bb0(%a: tensor<4xui32>, %b: tensor<4xui32>):
  %0 = gantry.div %a, %b : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %1 = gantry.compare lt, %a, %b : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  %2 = gantry.maximum %a, %b : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %3 = gantry.shift_right %a, %b : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  gantry.yield %0, %1, %2, %3 : tensor<4xui32>, tensor<4xi1>, tensor<4xui32>, tensor<4xui32>
}

// Only numbers that fit reach the conversion; the others are chosen by comparison.
// CHECK-LABEL: func.func private @saturating_cast(
// CHECK:         %[[SAFE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[X:.*]] : f32
// CHECK:         %[[INT:.*]] = arith.fptoui %[[SAFE]] : f32 to i32
// CHECK:         arith.select %{{.*}}, %{{.*}}, %[[INT]] : i32
gantry.kernel @saturating_cast {
^bb0(%x: tensor<4xf32>):
  %0 = gantry.cast %x : (tensor<4xf32>) -> tensor<4xui32>
  gantry.yield %0 : tensor<4xui32>
}

// Few bits go through i32, which holds all between their ends: NaN is not above the lower one.
// CHECK-LABEL: func.func private @saturating_cast_to_byte(
// CHECK:         ^bb0(%[[X:.*]]: f32, %{{.*}}: i8):
// CHECK:           %[[ABOVE:.*]] = arith.cmpf ogt, %[[X]], %[[LOW:.*]] : f32
// CHECK:           %[[AT_LEAST:.*]] = arith.select %[[ABOVE]], %[[X]], %[[LOW]] : f32
// CHECK:           %[[BELOW:.*]] = arith.cmpf olt, %[[AT_LEAST]], %[[HIGH:.*]] : f32
// CHECK:           %[[BETWEEN:.*]] = arith.select %[[BELOW]], %[[AT_LEAST]], %[[HIGH]] : f32
// CHECK:           %[[INT:.*]] = arith.fptosi %[[BETWEEN]] : f32 to i32
// CHECK:           arith.trunci %[[INT]] : i32 to i8
gantry.kernel @saturating_cast_to_byte {
^bb0(%x: tensor<4xf32>):
  %0 = gantry.cast %x : (tensor<4xf32>) -> tensor<4xui8>
  gantry.yield %0 : tensor<4xui8>
}

// A constant exponent of 2 needs no call.
// CHECK-LABEL: func.func private @square(
// CHECK-NOT:     math.powf
// CHECK:         arith.mulf %[[X:.*]], %[[X]]
gantry.kernel @square {
^bb0(%x: tensor<4xf32>):
  %c = gantry.constant dense<2.0> : tensor<f32>
  %0 = gantry.pow %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  gantry.yield %0 : tensor<4xf32>
}
