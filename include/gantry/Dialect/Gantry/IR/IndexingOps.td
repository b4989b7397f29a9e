//===- IndexingOps.td - Reading and writing at computed indices -----------===//
#ifndef GANTRY_INDEXING_OPS_TD
#define GANTRY_INDEXING_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"

/// Negative indices count from the end; an index outside the dimension is clamped into it, so that
/// no index of any input reads or writes elsewhere.
class Gantry_IndexingOp<string mnemonic, string logName, string kind = "Indexing",
                        Trait cost = CostOpInterface, string more = "">
    : Gantry_InferredOp<mnemonic, logName, kind,
                        [cost, DeclareOpInterfaceMethods<IndexingOpInterface>], more> {
  let assemblyFormat = functionalFormat;
}

/// The result is the first operand, but for what is written over it.
defvar updatesFirst = [{
  bool updatesOperand(unsigned operand) { return operand == 0; }
}];

def Gantry_GatherOp : Gantry_IndexingOp<"gather", "GatherV2"> {
  let summary = "take slices at indices along a dimension";
  let description = [{
    Result shape: the input's with dimension `axis` replaced by the shape of `indices`. Negative
    indices count from the end; indices outside are clamped.

    Example: `%y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_GatherElementsOp : Gantry_IndexingOp<"gather_elements", "GatherElements"> {
  let summary = "take elements at indices along a dimension";
  let description = [{
    Result element [..., i, ...] is input element [..., indices[..., i, ...], ...] along `axis`; the
    result has the shape of `indices`.

    Example: `%y = gantry.gather_elements %x, %i {axis = 1 : i64} : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_GatherNdOp : Gantry_IndexingOp<"gather_nd", "GatherNd"> {
  let summary = "take slices at index tuples";
  let description = [{
    The last dimension of `indices` holds tuples that address the input's dimensions after the first
    `batch_dims`, which both share.

    Example: `%y = gantry.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<4x5x6xf32>, tensor<3x2xi64>) -> tensor<3x6xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_IndexTensor:$indices, I64Attr:$batch_dims);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_ScatterElementsOp : Gantry_IndexingOp<"scatter_elements", "ScatterElements", "Opaque",
                                               CostOpInterface, updatesFirst> {
  let summary = "write elements at indices along a dimension";
  let description = [{
    A copy of the input in which element [..., indices[..., i, ...], ...] along `axis` meets update
    [..., i, ...] by `reduction`; updates apply in row-major order. For i1, adding is "or".

    Example: `%y = gantry.scatter_elements %x, %i, %u {axis = 1 : i64, reduction = #gantry<reduction none>} : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x5xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_IndexTensor:$indices, Gantry_Tensor:$updates,
                       I64Attr:$axis, Gantry_ScatterReductionAttr:$reduction);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_ScatterNdOp : Gantry_IndexingOp<"scatter_nd", "ScatterNd", "Opaque", CostOpInterface,
                                         updatesFirst> {
  let summary = "write slices at index tuples";
  let description = [{
    A copy of the input in which the slice at each tuple of `indices` meets its update by
    `reduction`; updates apply in row-major order.

    Example: `%y = gantry.scatter_nd %x, %i, %u {reduction = #gantry<reduction add>} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_IndexTensor:$indices, Gantry_Tensor:$updates,
                       Gantry_ScatterReductionAttr:$reduction);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_SetSliceOp : Gantry_IndexingOp<"set_slice", "DynamicUpdateSlice", "Indexing",
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>, updatesFirst> {
  let summary = "write one slice along a dimension";
  let description = [{
    The input, but for the slice at scalar `index` along `axis`, which is `update`: of the input's
    shape without that dimension. What it reads at an index, `gantry.gather` with a scalar gives.
    Where nothing reads the input later, as in a loop that collects a slice a step, the slice is
    written in place.

    Example: `%y = gantry.set_slice %x, %u, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<9x4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_Tensor:$update, Gantry_IndexTensor:$index,
                       I64Attr:$axis);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_OneHotOp : Gantry_IndexingOp<"one_hot", "OneHot"> {
  let summary = "mark indices in a new dimension";
  let description = [{
    Inserts a dimension of size `depth` at `axis`, holding scalar `on_value` at the index and scalar
    `off_value` elsewhere; negative indices count from the end, others outside mark nothing.

    Example: `%y = gantry.one_hot %i, %off, %on {axis = 1 : i64, depth = 10 : i64} : (tensor<4xi64>, tensor<f32>, tensor<f32>) -> tensor<4x10xf32>`
  }];
  let arguments = (ins Gantry_IndexTensor:$indices, Gantry_Tensor:$off_value, Gantry_Tensor:$on_value,
                       I64Attr:$axis, I64Attr:$depth);
  let results = (outs Gantry_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Checks of indices
//===----------------------------------------------------------------------===//

def Gantry_FirstBadIndexOp : Gantry_InferredOp<"first_bad_index", "FirstBadIndex", "Opaque",
                                             [CostOpInterface]> {
  let summary = "find the first index that is out of range";
  let description = [{
    Two integers: the row-major position in `indices` of the first one that is not in [-size, size),
    and that index; -1 and 0 when there is none. `sizes` holds one size for all indices, or one for
    each component of the tuples in their last dimension. Inserted by `gantry-insert-index-checks`.

    Example: `%f = gantry.first_bad_index %i {sizes = array<i64: 9>} : (tensor<2x3xi64>) -> tensor<2xi64>`
  }];
  let arguments = (ins Gantry_IndexTensor:$indices, DenseI64ArrayAttr:$sizes);
  let results = (outs Gantry_IndexTensor:$result);
  let assemblyFormat = functionalFormat;
}

def Gantry_AssertIndicesOp : Op<Gantry_Dialect, "assert_indices", [MemoryEffects<[MemWrite]>]> {
  let summary = "end the run when an index was out of range";
  let description = [{
    Reads on the host what `gantry.first_bad_index` found of indices of that `shape` and those
    `sizes`. A bad index ends the run with an error, before any variable has changed. The other
    attributes are what the error says: the op by its own name and that of its type, and the name
    of the indices. With `says` that is the error. Inserted by `gantry-insert-index-checks`, and by
    `gantry-bound-loops` for rounds of loops; Schedule makes a `plan.check` of it.

    Example: `gantry.assert_indices %first of "ids" shape [2, 3] sizes [9] in "embedding" is "Gather" : tensor<2xi64>`
  }];
  let arguments = (ins Gantry_IndexTensor:$first, StrAttr:$indices, DenseI64ArrayAttr:$shape,
                       DenseI64ArrayAttr:$sizes, StrAttr:$reader, StrAttr:$source_op,
                       OptionalAttr<StrAttr>:$says);
  let assemblyFormat = [{
    $first `of` $indices `shape` $shape `sizes` $sizes `in` $reader `is` $source_op (`says` $says^)? attr-dict `:`
    type($first)
  }];
  let hasVerifier = 1;
}

#endif
