// Kernels that are products become loops around tiles.

// RUN: gantry-opt %s --gantry-emit-products --canonicalize --cse | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#bias = affine_map<(m, n) -> (n)>
#id = affine_map<(m, n) -> (m, n)>

// 100 rows are 12 tiles: four of 9 and eight of 8; 100 columns are panels of 48, the last of 4. The
// constant is read as it is packed, and each tile asks for the lines of the next panel. What follows
// from a sum is computed where it is stored.
// CHECK-LABEL: func.func private @packed(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<100x64xf32> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: %[[B:[a-z0-9]*]]: memref<9216xf32>
// CHECK-SAME: %[[BIAS:[a-z0-9]*]]: memref<100xf32>
// CHECK-SAME: %[[C:[a-z0-9]*]]: memref<100x100xf32>
// CHECK: scf.forall
// CHECK: memref.alloc() : memref<9x48xf32>
// CHECK: scf.for
// CHECK: call @gantry_tile_f32_9x48_2(
// CHECK: call @gantry_tile_f32_8x48_2(
// CHECK: memref.load %[[BIAS]]
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[C]]
func.func private @packed(%a: tensor<100x64xf32>, %b: tensor<64x100xf32>, %bias: tensor<100xf32>) -> tensor<100x100xf32>
    attributes {gantry.layouts = [unit, {columns = array<i64: 100, 1>, matrices = array<i64>, rows = array<i64: 64, 100>, width = 48 : i64}, unit]} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<100x100xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<100x100xf32>) -> tensor<100x100xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<100x64xf32>, tensor<64x100xf32>) outs(%start : tensor<100x100xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<100x100xf32>
  %3 = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %bias : tensor<100x100xf32>, tensor<100xf32>) outs(%empty : tensor<100x100xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %4 = arith.addf %x, %y : f32
    linalg.yield %4 : f32
  } -> tensor<100x100xf32>
  return %3 : tensor<100x100xf32>
}

// An operand that is no constant is packed by the item, a block of terms at a time: 1000 terms are
// four blocks, and sums go on from those before. One item needs no loop over items.
// CHECK-LABEL: func.func private @given(
// CHECK-DAG: memref.alloc() : memref<252x48xf32>
// CHECK-DAG: memref.alloc() : memref<9x48xf32>
// CHECK: scf.for
// CHECK: memref.load %{{.*}} : memref<1000x48xf32>
// CHECK: call @gantry_tile_f32_9x48_0(
func.func private @given(%a: tensor<9x1000xf32>, %b: tensor<1000x48xf32>) -> tensor<9x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<9x48xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<9x48xf32>) -> tensor<9x48xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x1000xf32>, tensor<1000x48xf32>) outs(%start : tensor<9x48xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<9x48xf32>
  return %0 : tensor<9x48xf32>
}

// Sums in f64 stay with the general emitter.
// CHECK-LABEL: func.func private @wide(
// CHECK: linalg.generic
func.func private @wide(%a: tensor<9x10xf64>, %b: tensor<10x48xf64>) -> tensor<9x48xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<9x48xf64>
  %start = linalg.fill ins(%zero : f64) outs(%empty : tensor<9x48xf64>) -> tensor<9x48xf64>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x10xf64>, tensor<10x48xf64>) outs(%start : tensor<9x48xf64>) {
  ^bb0(%x: f64, %y: f64, %sum: f64):
    %1 = arith.mulf %x, %y fastmath<contract> : f64
    %2 = arith.addf %sum, %1 : f64
    linalg.yield %2 : f64
  } -> tensor<9x48xf64>
  return %0 : tensor<9x48xf64>
}

// So do sums of products that were rounded by an op in front of the sum.
// CHECK-LABEL: func.func private @rounded(
// CHECK: linalg.generic
// CHECK-NOT: call
func.func private @rounded(%a: tensor<9x1000xf32>, %b: tensor<1000x48xf32>) -> tensor<9x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<9x48xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<9x48xf32>) -> tensor<9x48xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x1000xf32>, tensor<1000x48xf32>) outs(%start : tensor<9x48xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %sum, %1 fastmath<reassoc,nsz> : f32
    linalg.yield %2 : f32
  } -> tensor<9x48xf32>
  return %0 : tensor<9x48xf32>
}

// Elements of a matrix that a product wants in panels are picked from them: column 100 is the fifth
// of the third panel.
// CHECK-LABEL: func.func private @pick(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<3x64x48xf32>
// CHECK-DAG: %[[WIDTH:.*]] = arith.constant 48 : index
// CHECK: linalg.generic
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[COLUMN:.*]] = arith.index_cast
// CHECK-DAG: %[[PANEL:.*]] = arith.divui %[[COLUMN]], %[[WIDTH]]
// CHECK-DAG: %[[LANE:.*]] = arith.remui %[[COLUMN]], %[[WIDTH]]
// CHECK: tensor.extract %[[W]][%[[PANEL]], %[[ROW]], %[[LANE]]]
func.func private @pick(%w: tensor<64x144xf32>, %at: tensor<5xi64>) -> tensor<64x5xf32>
    attributes {gantry.layouts = [{columns = array<i64: 144, 1>, matrices = array<i64>, rows = array<i64: 64, 144>, width = 48 : i64}, unit]} {
  %empty = tensor.empty() : tensor<64x5xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<5xi64>) outs(%empty : tensor<64x5xf32>) {
  ^bb0(%x: i64, %out: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %x : i64 to index
    %1 = tensor.extract %w[%row, %column] : tensor<64x144xf32>
    linalg.yield %1 : f32
  } -> tensor<64x5xf32>
  return %0 : tensor<64x5xf32>
}

// Pairs of bf16, of an operand that the item packs column by column: 11 terms are 6 pairs, the last
// one filled up with a zero; rows that do not lie so are packed as bf16, too.
// CHECK-LABEL: func.func private @pairs(
// CHECK-DAG: %[[PANEL:.*]] = memref.alloc() : memref<6x48x2xbf16>
// CHECK-DAG: memref.alloc() : memref<9x11xbf16>
// CHECK: memref.store %{{.*}}, %[[PANEL]][%{{.*}}, %{{.*}}, %{{.*}}] : memref<6x48x2xbf16>
// CHECK: call @gantry_tile_bf16_9x48_0_48of48(
func.func private @pairs(%a: tensor<11x9xbf16>, %b: tensor<48x11xbf16>) -> tensor<9x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<9x48xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<9x48xf32>) -> tensor<9x48xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<11x9xbf16>, tensor<48x11xbf16>) outs(%start : tensor<9x48xf32>) attrs = {gantry.accumulate_wide} {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %1 = arith.extf %x : bf16 to f32
    %2 = arith.extf %y : bf16 to f32
    %3 = arith.mulf %1, %2 fastmath<contract> : f32
    %4 = arith.addf %sum, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<9x48xf32>
  return %0 : tensor<9x48xf32>
}

// Bytes of two computed factors: items pack the right one, four terms of a column side by side, and the left one where its
// rows do not end with a group; sums are i32.
// CHECK-LABEL: func.func private @bytes(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<40x62xi8> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: %[[B:[a-z0-9]*]]: memref<62x48xi8>
// CHECK-DAG: memref.alloc() : memref<8x64xi8>
// CHECK-DAG: memref.alloc() : memref<16x48x4xi8>
// CHECK: scf.for %{{.*}} = %c0 to %c15
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c48
// CHECK-COUNT-4: memref.store %{{.*}} : memref<16x48x4xi8>
// CHECK: call @gantry_tile_bytes_8x48_0_48of48(
func.func private @bytes(%a: tensor<40x62xi8>, %b: tensor<62x48xi8>) -> tensor<40x48xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<40x48xi32>
  %start = linalg.fill ins(%zero : i32) outs(%empty : tensor<40x48xi32>) -> tensor<40x48xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<40x62xi8>, tensor<62x48xi8>) outs(%start : tensor<40x48xi32>) {
  ^bb0(%x: i8, %y: i8, %sum: i32):
    %1 = arith.extui %x : i8 to i32
    %2 = arith.extsi %y : i8 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %sum, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<40x48xi32>
  return %0 : tensor<40x48xi32>
}

// Of other signs they are no tiles.
// CHECK-LABEL: func.func private @both_signed(
// CHECK: linalg.generic
func.func private @both_signed(%a: tensor<40x62xi8>, %b: tensor<62x48xi8>) -> tensor<40x48xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<40x48xi32>
  %start = linalg.fill ins(%zero : i32) outs(%empty : tensor<40x48xi32>) -> tensor<40x48xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<40x62xi8>, tensor<62x48xi8>) outs(%start : tensor<40x48xi32>) {
  ^bb0(%x: i8, %y: i8, %sum: i32):
    %1 = arith.extsi %x : i8 to i32
    %2 = arith.extsi %y : i8 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %sum, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<40x48xi32>
  return %0 : tensor<40x48xi32>
}

// Sums of few terms that nothing follows are stored by the tiles: there is no buffer of them. The
// last panel has 36 columns of the 100.
// CHECK-LABEL: func.func private @few(
// CHECK-SAME: %[[C:[a-z0-9]*]]: memref<100x100xf32>
// CHECK-NOT: memref<6x64xf32>
// CHECK: %[[AT:.*]] = memref.extract_aligned_pointer_as_index %[[C]]
// CHECK-NOT: memref<6x64xf32>
// CHECK: %[[PLACE:.*]] = arith.addi %[[AT]],
// CHECK: call @gantry_tile_f32_6x64_0_64of100(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[PLACE]],
// CHECK: call @gantry_tile_f32_5x64_0_64of100(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[PLACE]],
// CHECK: call @gantry_tile_f32_6x64_0_36of100(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[PLACE]],
// CHECK: call @gantry_tile_f32_5x64_0_36of100(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[PLACE]],
// CHECK-NOT: memref.store %{{.*}}, %[[C]]
// CHECK: return
func.func private @few(%a: tensor<100x3xf32>, %b: tensor<3x100xf32>) -> tensor<100x100xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<100x100xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<100x100xf32>) -> tensor<100x100xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<100x3xf32>, tensor<3x100xf32>) outs(%start : tensor<100x100xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<100x100xf32>
  return %0 : tensor<100x100xf32>
}

#at = affine_map<(m, n, k) -> (k, m)>

// A left operand that lies by columns is packed term by term: the 40 rows of an item side by side, in
// vectors, the last of which ends with them. Terms are an odd number of cache lines apart, and tiles read
// them so.
// CHECK-LABEL: func.func private @by_columns(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<300x40xf32>
// CHECK-DAG: %[[OWN:.*]] = memref.alloc() : memref<7296xf32>
// CHECK-DAG: %[[STRIDE:.*]] = arith.constant 48 : index
// CHECK-DAG: %[[LAST:.*]] = arith.constant 24 : index
// CHECK-DAG: %[[FLAT:.*]] = memref.collapse_shape %[[A]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[LAST]] step
// CHECK: %[[V:.*]] = vector.load %[[FLAT]][%{{.*}}] : memref<12000xf32>, vector<16xf32>
// CHECK: vector.store %[[V]], %[[OWN]][%{{.*}}] : memref<7296xf32>, vector<16xf32>
// CHECK: vector.load
// CHECK: call @gantry_tile_f32_8x48_0t(%{{.*}}, %[[STRIDE]],
func.func private @by_columns(%a: tensor<300x40xf32>, %b: tensor<300x48xf32>) -> tensor<40x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<40x48xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x48xf32>) -> tensor<40x48xf32>
  %0 = linalg.generic {indexing_maps = [#at, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<300x40xf32>, tensor<300x48xf32>) outs(%start : tensor<40x48xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<40x48xf32>
  return %0 : tensor<40x48xf32>
}

#turn = affine_map<(c, y, x, n) -> (n, y, x, c)>
#all = affine_map<(c, y, x, n) -> (c, y, x, n)>
#image = affine_map<(c, i, j, o, y, x, n) -> (c, i + y, j + x, n)>
#places = affine_map<(c, i, j, o, y, x, n) -> (y, x, n, o)>
#filter = affine_map<(c, i, j, o, y, x, n) -> (c, i, j, o)>

// The gradient of a filter, whose image is turned for it: rows are the 4 channels of the window's 3 columns,
// which lie side by side, and each of its rows is a matrix. The image is read where it lies.
// CHECK-LABEL: func.func private @filter(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<2x10x10x4xf32>
// CHECK: scf.forall (%{{.*}}) in (3)
// CHECK: memref.collapse_shape %[[X]]
// CHECK: vector.load %{{.*}} : memref<800xf32>, vector<8xf32>
// CHECK: call @gantry_tile_f32_6x48_0t(
func.func private @filter(%x: tensor<2x10x10x4xf32>, %d: tensor<8x8x2x48xf32>) -> tensor<4x3x3x48xf32> {
  %zero = arith.constant 0.0 : f32
  %order = tensor.empty() : tensor<4x10x10x2xf32>
  %turned = linalg.generic {indexing_maps = [#turn, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x10x10x4xf32>) outs(%order : tensor<4x10x10x2xf32>) {
  ^bb0(%e: f32, %out: f32):
    linalg.yield %e : f32
  } -> tensor<4x10x10x2xf32>
  %empty = tensor.empty() : tensor<4x3x3x48xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x3x3x48xf32>) -> tensor<4x3x3x48xf32>
  %0 = linalg.generic {indexing_maps = [#image, #places, #filter],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%turned, %d : tensor<4x10x10x2xf32>, tensor<8x8x2x48xf32>) outs(%start : tensor<4x3x3x48xf32>) {
  ^bb0(%e: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %e, %y fastmath<contract> : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x3x3x48xf32>
  return %0 : tensor<4x3x3x48xf32>
}

// CHECK: func.func private @gantry_tile_f32_9x48_2(index, index, index, index, index, index, index)
