// The ops that make the results of a kernel become one, where they go through the same elements.

// RUN: gantry-opt %s --gantry-merge-generics | FileCheck %s --enable-var-scope

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// What the first one makes for the second is a scalar; what both read is read once.
// CHECK-LABEL: @two(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[R:.*]]: tensor<4xf32>)
// CHECK: %[[BOTH:.*]]:2 = linalg.generic {{.*}} ins(%[[X]], %[[R]] : {{.*}}) outs(
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32, %{{.*}}: bf16):
// CHECK-NEXT:   %[[E:.*]] = math.exp %[[A]]
// CHECK-NEXT:   %[[S:.*]] = arith.addf %[[A]], %[[E]]
// CHECK-NEXT:   %[[M:.*]] = arith.mulf %[[S]], %[[B]]
// CHECK-NEXT:   %[[T:.*]] = arith.truncf %[[M]]
// CHECK-NEXT:   linalg.yield %[[E]], %[[T]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func private @two(%x: tensor<4x8xf32>, %r: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xbf16>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %f = tensor.empty() : tensor<4x8xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %0, %r : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) outs(%f : tensor<4x8xbf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: bf16):
    %3 = arith.addf %a, %b : f32
    %4 = arith.mulf %3, %c : f32
    %5 = arith.truncf %4 : f32 to bf16
    linalg.yield %5 : bf16
  } -> tensor<4x8xbf16>
  return %0, %2 : tensor<4x8xf32>, tensor<4x8xbf16>
}

// One reads what the other makes in another order.
// CHECK-LABEL: @turned(
// CHECK-COUNT-2: linalg.generic
func.func private @turned(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %3 = arith.negf %a : f32
    linalg.yield %3 : f32
  } -> tensor<4x4xf32>
  return %0, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// One result keeps its ops: they are not for another one.
// CHECK-LABEL: @one(
// CHECK-COUNT-2: linalg.generic
func.func private @one(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %3 = arith.negf %a : f32
    linalg.yield %3 : f32
  } -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

#column = affine_map<(d0, d1) -> (d1)>
#line = affine_map<(d0) -> (d0)>

// Two sums over the rows of the same elements, and what only they read; what follows one of them gives both results.
// CHECK-LABEL: @sums(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>)
// CHECK: %[[BOTH:.*]]:2 = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[X]], %[[Y]] : {{.*}}) outs(
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[S:.*]]: f32, %[[T:.*]]: f32):
// CHECK-NEXT:   %[[M:.*]] = arith.subf %[[A]], %[[B]]
// CHECK-NEXT:   %[[Q:.*]] = arith.mulf %[[M]], %[[M]]
// CHECK-NEXT:   %[[SS:.*]] = arith.addf %[[S]], %[[Q]] fastmath
// CHECK-NEXT:   %[[TT:.*]] = arith.addf %[[T]], %[[M]] fastmath
// CHECK-NEXT:   linalg.yield %[[SS]], %[[TT]]
// CHECK: %[[ALL:.*]]:2 = linalg.generic {{.*}} ins(%[[BOTH]]#0, %[[BOTH]]#1 : {{.*}}) outs(
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
// CHECK: return %[[ALL]]#0, %[[ALL]]#1
func.func private @sums(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %l = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.subf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%m : tensor<4x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %b, %1 fastmath<reassoc,nsz,contract> : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%s : tensor<8xf32>) outs(%l : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.negf %a : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %t = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%m : tensor<4x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %b, %a fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %n, %t : tensor<8xf32>, tensor<8xf32>
}

// Sums along rows stay ops of their own, but one op gives both results, each in a place of its own.
// CHECK-LABEL: @along(
// CHECK: %[[S:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: %[[T:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: %[[BOTH:.*]]:2 = linalg.generic {{.*}} ins(%[[S]], %[[T]] :
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func private @along(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %l = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%l : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %b, %a fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %b, %1 fastmath<reassoc,nsz,contract> : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %s, %t : tensor<4xf32>, tensor<4xf32>
}
