// RUN: gantry-opt %s --gantry-add-destinations | FileCheck %s

// Tensors become buffers, arguments first, then one per result; none may overlap another and all
// are aligned for vectors.
// CHECK-LABEL: func.func private @one(
// CHECK-SAME: %[[X:[^:]*]]: memref<4xf32> {llvm.align = 64 : i64, llvm.noalias},
// CHECK-SAME: %[[Y:.*]]: memref<4xf32> {llvm.align = 64 : i64, llvm.noalias})
// CHECK: %[[T:.*]] = bufferization.to_tensor %[[X]] restrict
// CHECK: %[[R:.*]] = linalg.exp ins(%[[T]]
// CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[Y]]
// CHECK: return{{$}}
func.func private @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A reshape before a result disappears: its bytes are the same.
// CHECK-LABEL: func.func private @reshaped(
// CHECK-SAME: memref<4x2xf32>
// CHECK-SAME: memref<4x2xf32>
// CHECK: %[[R:.*]] = linalg.exp
// CHECK: bufferization.materialize_in_destination %[[R]] {{.*}} : (tensor<4x2xf32>, memref<4x2xf32>)
func.func private @reshaped(%x: tensor<4x2xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<4x2xf32>
  %0 = linalg.exp ins(%x : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Two results, two buffers; one value given back twice is written twice.
// CHECK-LABEL: func.func private @two(
// CHECK-SAME: %{{[^:]*}}: memref<4xf32> {{[^,]*}}, {{[^,]*}}, %[[A:[^:]*]]: memref<4xf32> {{[^,]*}}, {{[^,]*}}, %[[B:[^:]*]]: memref<4xf32>
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[A]]
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[B]]
func.func private @two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// A declaration has no body to change.
// CHECK: func.func private @external(tensor<4xf32>) -> tensor<4xf32>
func.func private @external(tensor<4xf32>) -> tensor<4xf32>

// What is joined is written piece by piece, each to its place.
// CHECK-LABEL: func.func private @joined(
// CHECK-SAME: %{{[^:]*}}: memref<2x3xf32> {{[^,]*}}, {{[^,]*}}, %{{[^:]*}}: memref<2x1xf32> {{[^,]*}}, {{[^,]*}}, %[[OUT:[^:]*]]: memref<2x4xf32>
// CHECK-NOT: tensor.insert_slice
// CHECK: %[[A:.*]] = memref.subview %[[OUT]][0, 0] [2, 3] [1, 1]
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[A]]
// CHECK: %[[B:.*]] = memref.subview %[[OUT]][0, 3] [2, 1] [1, 1]
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[B]]
// CHECK-NOT: tensor.concat
func.func private @joined(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Before another op it is a value like any other.
// CHECK-LABEL: func.func private @joined_and_read(
// CHECK: %[[A:.*]] = tensor.insert_slice
// CHECK: %[[B:.*]] = tensor.insert_slice %{{.*}} into %[[A]]
// CHECK: linalg.exp ins(%[[B]]
func.func private @joined_and_read(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = tensor.concat dim(0) %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %1 = linalg.exp ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Two sums do not start from the same zeros, which would be in the buffer of one of them.
// CHECK-LABEL: func.func private @sums(
// CHECK: %[[B:.*]] = linalg.fill
// CHECK: %[[A:.*]] = linalg.fill
// CHECK: %[[S:.*]] = linalg.reduce {{.*}} outs(%[[A]] :
// CHECK: %[[T:.*]] = linalg.reduce {{.*}} outs(%[[B]] :
// CHECK: bufferization.materialize_in_destination %[[S]]
// CHECK: bufferization.materialize_in_destination %[[T]]
func.func private @sums(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<4x8xf32>) outs(%start : tensor<4xf32>) dimensions = [1]
  %1 = linalg.reduce {arith.addf} ins(%y : tensor<4x8xf32>) outs(%start : tensor<4xf32>) dimensions = [1]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Neither do sums that are pieces of what is joined.
// CHECK-LABEL: func.func private @joined_sums(
// CHECK: %[[B:.*]] = linalg.fill
// CHECK: %[[A:.*]] = linalg.fill
// CHECK: %[[S:.*]] = linalg.reduce {{.*}} outs(%[[A]] :
// CHECK: %[[T:.*]] = linalg.reduce {{.*}} outs(%[[B]] :
// CHECK: bufferization.materialize_in_destination %[[S]]
// CHECK: bufferization.materialize_in_destination %[[T]]
func.func private @joined_sums(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<4x8xf32>) outs(%start : tensor<4xf32>) dimensions = [1]
  %1 = linalg.reduce {arith.addf} ins(%y : tensor<4x8xf32>) outs(%start : tensor<4xf32>) dimensions = [1]
  %2 = tensor.concat dim(0) %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
